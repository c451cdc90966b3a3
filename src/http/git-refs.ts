import { lsRefsAnswer, parseLsRefs } from "../platform/git/ls-refs.ts";
import type { Repository } from "../platform/git/repository.ts";

/**
 * Where refs stand, without a process of git: what most fetches of clients that look for news are.
 *
 * @returns undefined when something else is asked for, or git has to be asked
 */
export async function refsAnswer(
  body: Buffer,
  repository: Repository,
): Promise<Buffer | undefined> {
  const asked = parseLsRefs(body);
  if (asked === undefined) return undefined;
  const listing = await repository.refListing();
  return listing && lsRefsAnswer(asked, listing);
}
