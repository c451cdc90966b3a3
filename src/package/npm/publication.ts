import { z } from "zod";

import { Refusal } from "../../platform/refusal.ts";
import { mustBeStorable } from "../../platform/storable-text.ts";

const versionsMax = 300_000;
const tagsBytesMax = 1024 ** 2;
const messageLengthMax = 1_000;

const Publication = z.object({
  "dist-tags": z.record(z.string(), z.string()).default({}),
  versions: z.record(
    z.string(),
    z
      .object({ deprecated: z.string().optional().catch(undefined) })
      .transform(({ deprecated }) => deprecated?.slice(0, messageLengthMax) ?? null),
  ),
});

/** What is read of a publication beside its tarball: tags, and wanted versions with their deprecations. */
export type Publication = z.output<typeof Publication>;

export type PublicationQuestion = Readonly<{
  bytes: Uint8Array;
  /** Versions that are answered: all that a document may name would take long to receive. */
  wanted: readonly string[];
}>;

/**
 * @returns undefined when it is not what npm sends
 * @throws Refusal 400 when it is not JSON, 413 when it says too much, 422 for what cannot be stored
 */
export function parsePublication({ bytes, wanted }: PublicationQuestion): Publication | undefined {
  const { success, data } = Publication.safeParse(parsed(bytes));
  if (!success) return undefined;
  if (Object.keys(data.versions).length > versionsMax) throw tooLarge(`${versionsMax} versions`);
  const isLong = JSON.stringify(data["dist-tags"]).length > tagsBytesMax;
  if (isLong) throw tooLarge(`${tagsBytesMax} bytes of tags`);
  const isWanted = new Set(wanted);
  const versions = Object.entries(data.versions).filter(([version]) => isWanted.has(version));
  const publication = { ...data, versions: Object.fromEntries(versions) };
  mustBeStorable(publication);
  return publication;
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    throw notJson("it does not parse");
  }
}

export const tooLarge = (limit: string): Refusal =>
  new Refusal("too_large", "body.too_large", `Beside the tarball it has more than ${limit}.`);

export const notJson = (why: string): Refusal =>
  new Refusal("bad_request", "body.not_json", `The body must be what npm sends; ${why}.`);
