import type { ChildProcess } from "node:child_process";
import { createHash } from "node:crypto";

import { type CommandRequest, parseCommandRequest } from "../../../git/command-request.ts";
import { lsRefsAnswer, lsRefsParams, wantsServiceRefs } from "../../../git/ls-refs.ts";
import type { CachedPack, PackCache } from "../../../git/pack-cache.ts";
import type { Repository } from "../../../git/repository.ts";

/** A request of protocol version 2 that was read. */
export type Input = Readonly<{
  body: Buffer;
  /** What its answer is kept by if it is worth a file, and about how large it will be. */
  caching?: Readonly<{ key: string; bytes: number }>;
}>;

/**
 * What is answered without a process of git: where refs stand, and a pack that is made already, or just now.
 * Anything else is for git.
 */
export async function answerOf(
  body: Buffer,
  repository: Repository,
  packs: PackCache,
): Promise<Readonly<{ refs: Buffer }> | Readonly<{ pack: CachedPack }> | Input> {
  const request = parseCommandRequest(body);
  if (request?.command === "fetch") return packOf(request, body, repository, packs);
  const params = request && lsRefsParams(request);
  const listing = params && (await repository.refListing(wantsServiceRefs(params)));
  return params && listing ? { refs: lsRefsAnswer(params, listing) } : { body };
}

async function packOf(
  request: CommandRequest,
  body: Buffer,
  repository: Repository,
  packs: PackCache,
): Promise<Readonly<{ pack: CachedPack }> | Input> {
  // The state of the refs is read only for a request that came before, whatever the refs were then.
  if (!packs.requestedBefore(keyOf(repository.gitDir, "", request))) return { body };
  const state = await repository.refState();
  if (state === undefined) return { body };
  const key = keyOf(repository.gitDir, state, request);
  const pack = packs.find(key);
  if (pack !== undefined) return { pack };
  const bytes = await repository.packedBytes();
  return (await packs.takes(bytes)) ? { body, caching: { key, bytes } } : { body };
}

/**
 * Makes a pack once for all equal requests.
 *
 * @param leave releases the slot of this git process
 * @returns undefined when it is not to be kept: the place is still held
 */
export function packToCache(
  { body, caching }: Input,
  repository: Repository,
  packs: PackCache,
  leave: () => void,
): CachedPack | undefined {
  if (caching === undefined) return undefined;
  const { key, bytes } = caching;
  const cached = packs.find(key);
  const pack = cached ?? packs.make(key, bytes, (file) => started(repository, file, body));
  if (cached !== undefined) leave();
  else void pack?.end.then(leave, leave);
  return pack;
}

function started(repository: Repository, file: number, request: Buffer): ChildProcess {
  const child = repository.startUpload(file, "version=2");
  child.stderr.resume();
  child.stdin.end(request);
  return child;
}

/**
 * A pack follows from the request and the repository's refs: tags come with what they point to, and an
 * end of history may be named by a ref. The caller and its program do not change the answer.
 */
function keyOf(gitDir: string, state: string, { capabilities, args }: CommandRequest): string {
  const relevant = capabilities.filter((line) => !/^(?:agent|session-id)=/.test(line));
  const parts = [gitDir, state, ...relevant, "", ...args];
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url");
}
