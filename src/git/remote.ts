import { type OutboundProxy, OutboundTooLarge } from "../platform/outbound/proxy.ts";
import { OutboundRefused } from "../platform/outbound/url.ts";
import { gitEnvironmentWith } from "./environment.ts";
import { GitFailure } from "./failure.ts";
import { isNewRefName, isObjectId } from "./name.ts";
import type { Refs, Repository } from "./repository.ts";
import { runGit } from "./run.ts";

export type RemoteCredentials = Readonly<{ username: string; token: string }>;

export type RemoteOptions = Readonly<{
  /** Ours, which is compared and exchanged with the one at the URL. */
  repository: Repository;
  /** http or https, without credentials. */
  url: string;
  credentials: RemoteCredentials | null;
  proxy: OutboundProxy;
  /** That may come from there. */
  bytesMax: number;
  /** Takes room for so many bytes in all. */
  reach?: (bytes: number) => Promise<void>;
  signal: AbortSignal;
}>;

export type RemoteRefs = Readonly<{
  /** Branches and tags whose names we take. */
  refs: Refs;
  /** The branch its HEAD points to, if it says. */
  head: string | undefined;
}>;

/** Another server's repository, for as long as its connection is wanted. */
export type Remote = Readonly<{
  refs: () => Promise<RemoteRefs>;
  /**
   * Brings its branches and tags into ours below `refs/mirror/`, where no client sees them, and
   * answers them under the names they have there.
   */
  fetch: () => Promise<Refs>;
  /** Makes its branches and tags those of ours: what is not there goes away. */
  push: () => Promise<void>;
  close: () => void;
}>;

/** Why the other server could not be read or written; the message may be shown. */
export class RemoteFailure extends Error {
  override readonly name = "RemoteFailure";

  constructor(
    /** Dotted: `remote.authentication`. */
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

const timeoutMs = 60 * 60_000;
const listTimeoutMs = 2 * 60_000;
/** Slower than so many bytes a second for so many seconds is a connection that hangs. */
const stalled = { bytes: "100", seconds: "60" };
const mirrored = "refs/mirror/";

/**
 * Every connection of git goes through the proxy under a grant that leads to this URL's host alone.
 * Credentials are a header that git sends there; they and those of the grant are in the child's environment,
 * never on a command line.
 *
 * @throws RemoteFailure
 */
export async function openRemote(options: RemoteOptions): Promise<Remote> {
  const { url, credentials, proxy, bytesMax, reach, signal } = options;
  const { gitDir } = options.repository;
  const grant = await proxy.open(url, bytesMax, reach).catch((error: unknown) => {
    throw error instanceof OutboundRefused
      ? new RemoteFailure("remote.refused", error.message)
      : error;
  });
  const env = environment(grant.proxyUrl, credentials);
  const run = async (
    args: readonly [command: string, ...rest: string[]],
    limitMs: number,
  ): Promise<string> => {
    try {
      const holds = args[0] === "fetch" ? ("pushing" as const) : undefined;
      const options = { env, timeoutMs: limitMs, signal, ...(holds && { holds }) };
      const { stdout } = await runGit(gitDir, args, options);
      return stdout.toString();
    } catch (error) {
      signal.throwIfAborted();
      throw failureOf(error, grant.refusal(), credentials);
    }
  };

  return {
    async refs() {
      const args = ["ls-remote", "--symref", "--quiet", "--end-of-options", url] as const;
      return parseRefs(await run(args, listTimeoutMs));
    },

    async fetch() {
      await run(
        [
          "fetch",
          ...["--quiet", "--prune", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"],
          ...["--no-recurse-submodules", "--end-of-options", url],
          ...["heads", "tags", "notes"].map((kind) => `+refs/${kind}/*:${mirrored}${kind}/*`),
        ],
        timeoutMs,
      );
      const pattern = mirrored.slice(0, -1);
      const format = "--format=%(objectname) %(refname)";
      const { stdout } = await runGit(gitDir, ["for-each-ref", format, "--", pattern]);
      return taken(stdout.toString().replaceAll(` ${mirrored}`, " refs/").split("\n"), " ");
    },

    async push() {
      await run(
        [
          "push",
          ...["--quiet", "--porcelain", "--prune", "--force", "--no-verify"],
          ...["--recurse-submodules=no", "--end-of-options", url],
          ...["heads", "tags", "notes"].map((kind) => `refs/${kind}/*:refs/${kind}/*`),
        ],
        timeoutMs,
      );
    },

    close: grant.close,
  };
}

/** Meanings: git-config(1). */
function environment(proxyUrl: string, credentials: RemoteCredentials | null) {
  return gitEnvironmentWith([
    ["protocol.http.allow", "always"],
    ["protocol.https.allow", "always"],
    ["http.proxy", proxyUrl],
    ["http.proxyAuthMethod", "basic"],
    // Not even to the same host: a redirect is how a checked address becomes another one. Without it
    // the alternates of the dumb protocol, which name further servers, are not followed either.
    ["http.followRedirects", "false"],
    ["http.lowSpeedLimit", stalled.bytes],
    ["http.lowSpeedTime", stalled.seconds],
    ["credential.helper", ""],
    ["fetch.fsck.badTimezone", "ignore"],
    ["fetch.fsck.missingSpaceBeforeDate", "ignore"],
    ["fetch.fsck.zeroPaddedFilemode", "ignore"],
    // Objects stay in the pack they came in.
    ["fetch.unpackLimit", "1"],
    ["submodule.recurse", "false"],
    ...(credentials === null ? [] : [["http.extraHeader", basic(credentials)] as const]),
  ]);
}

const basic = ({ username, token }: RemoteCredentials): string =>
  `Authorization: Basic ${Buffer.from(`${username}:${token}`).toString("base64")}`;

function parseRefs(listing: string): RemoteRefs {
  const lines = listing.split("\n");
  const [, head] = /^ref: refs\/heads\/(\S+)\tHEAD$/m.exec(listing) ?? [];
  return { refs: taken(lines, "\t"), head };
}

/** Names that no push may bring are left out, wherever they come from. */
function taken(lines: readonly string[], separator: string): Refs {
  const refs = new Map<string, string>();
  for (const line of lines) {
    const [id = "", ref = ""] = line.split(separator);
    if (isObjectId(id) && isNewRefName(ref)) refs.set(ref, id);
  }
  return refs;
}

function failureOf(
  error: unknown,
  refusal: Error | undefined,
  credentials: RemoteCredentials | null,
): unknown {
  if (refusal instanceof OutboundTooLarge) {
    return new RemoteFailure("remote.too_large", "The repository is larger than it may be here.");
  }
  if (refusal instanceof OutboundRefused) {
    return new RemoteFailure("remote.refused", refusal.message);
  }
  if (refusal !== undefined) {
    return new RemoteFailure("remote.unreachable", "The server cannot be reached.");
  }
  if (!(error instanceof GitFailure)) return error;
  const stderr = error.stderr;
  for (const [pattern, code, message] of meanings) {
    if (pattern.test(stderr)) return new RemoteFailure(code, message);
  }
  return new RemoteFailure("remote.failed", `git: ${lastWords(stderr, credentials)}`);
}

/** What git prints, in the C locale, since 2.20. */
const meanings: readonly (readonly [RegExp, string, string])[] = [
  [
    /Authentication failed|could not read (?:Username|Password)|error: 40[13]\b/,
    "remote.authentication",
    "The server refuses the credentials.",
  ],
  [
    /\bnot found\b|error: 404\b/i,
    "remote.not_found",
    "There is no such repository for these credentials.",
  ],
  [
    /error: 30\d\b|unable to update url base from redirection/,
    "remote.redirected",
    "The server redirects to another address: name that one.",
  ],
  [
    /\[(?:remote )?rejected\]|failed to push some refs/,
    "remote.rejected",
    "The server does not take some of the branches or tags.",
  ],
];

/** The last line it printed, without anything secret or unprintable. */
function lastWords(stderr: string, credentials: RemoteCredentials | null): string {
  const line = stderr.trim().split("\n").at(-1) ?? "";
  const secrets = credentials === null ? [] : [credentials.token, basic(credentials).slice(21)];
  const hidden = secrets.reduce((text, secret) => text.replaceAll(secret, "***"), line);
  return hidden.replaceAll(/\p{Cc}/gu, " ").slice(0, 300) || "no reason given";
}
