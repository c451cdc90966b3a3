import { Alias } from "../events/core/ids.ts";
import { LfsOperation } from "../platform/key/lfs-token.ts";

export type Names = Readonly<{ ownerAlias: string; projectAlias: string }>;

/** The only commands that a client can run. */
export type SshCommand = Names &
  (
    | Readonly<{ service: "upload-pack" | "receive-pack" | "upload-archive" }>
    | Readonly<{ service: "lfs-authenticate"; operation: LfsOperation }>
  );

/** Two aliases need far less, and are held to it below: longer texts are not parsed. */
const textLengthMax = 512;
/** `git-upload-pack 'owner/alias.git'` as git writes it, and `git upload-pack …`; nothing may follow. */
const git = /^git[- ](upload-pack|receive-pack|upload-archive) (\S+)$/;
/** `git-lfs-authenticate owner/alias.git download`; older versions add an object id, which says nothing. */
const lfs = /^git-lfs-authenticate (\S+) ([a-z]+)(?: [0-9a-f]{64})?$/;
/** In quotes of one kind or none. There is no shell: what it would make of other characters is refused. */
const location = /^\/?([A-Za-z0-9._-]+)\/([A-Za-z0-9._-]+)$/;

/**
 * Reads what a client requests to execute. It is matched as a whole against what git and git-lfs
 * write, never split, unquoted or handed to a shell.
 *
 * @returns undefined for anything else
 */
export function parseSshCommand(text: string): SshCommand | undefined {
  if (text.length > textLengthMax) return undefined;
  const [, service, gitPath = ""] = git.exec(text) ?? [];
  if (service !== undefined) {
    const names = namesIn(gitPath);
    // The expression allows these three alone.
    return names && { ...names, service: service as "upload-pack" };
  }
  const [, lfsPath = "", word] = lfs.exec(text) ?? [];
  const operation = LfsOperation.safeParse(word);
  const names = namesIn(lfsPath);
  if (names === undefined || !operation.success) return undefined;
  return { ...names, service: "lfs-authenticate", operation: operation.data };
}

function namesIn(text: string): Names | undefined {
  const quote = /^['"]/.exec(text)?.[0] ?? "";
  const isQuoted = quote !== "" && text.length > 1 && text.endsWith(quote);
  const [, ownerAlias = "", last = ""] = location.exec(isQuoted ? text.slice(1, -1) : text) ?? [];
  const projectAlias = last.replace(/\.git$/, "");
  if (!Alias.safeParse(ownerAlias).success || !Alias.safeParse(projectAlias).success) {
    return undefined;
  }
  return { ownerAlias, projectAlias };
}
