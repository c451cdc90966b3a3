import type { Caller, Resolved } from "../access/gate.ts";

/** Who makes a request, and what they are in the place that its path names. */
export type Admitted = Readonly<{ caller: Caller; resolved: Resolved | undefined }>;

/**
 * The admission of a request, no older than a second: later it is checked again.
 *
 * @throws what `admit` throws, when the caller may not make the request any more
 */
export type Admission = () => Promise<Admitted>;

/** As long as a revoked right may go on counting everywhere else; see cached-query.ts. */
const freshMs = 1_000;

/** @param admit gets what was found the first time, which must be found again */
export async function admission(
  admit: (first?: Admitted) => Promise<Admitted>,
): Promise<Readonly<{ first: Admitted; admission: Admission }>> {
  let checkedAt = performance.now();
  const first = await admit();
  let admitted = first;
  return {
    first,
    async admission() {
      const now = performance.now();
      if (now - checkedAt < freshMs) return admitted;
      admitted = await admit(first);
      checkedAt = now;
      return admitted;
    },
  };
}
