/** As sudo's secure_path: what the operator's shell looks through is not for children of a server. */
const securePath =
  "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/homebrew/bin:/opt/local/bin";

/** Largest pack a push may bring; git refuses more while it reads (receive.maxInputSize). */
export const pushBytesMax = 4 * 1024 ** 3;

/**
 * Largest piece of memory a child that reads or takes in objects may request; it ends when it wants
 * more. An object stored as a difference has to be put together in memory, and a pack of some
 * kilobytes can hold one of gigabytes. Git's clients send files over 512 MiB whole, which need none.
 */
export const memoryLimit: Readonly<Record<string, string>> = { GIT_ALLOC_LIMIT: "1g" };

/**
 * The same for a child that lists the files of commits: it holds all of one commit's in memory before it
 * prints the first, in small pieces, and only the list of them in one. Two million fit, and histories of half
 * a million commits. A tree that holds itself ten times over at ten levels has ten thousand million.
 */
export const listingLimit: Readonly<Record<string, string>> = { GIT_ALLOC_LIMIT: "16m" };

/**
 * Settings every git child runs under. They are given per process, at a precedence above the
 * repository's own file, so a change here holds for all repositories at the next command.
 * Meanings: git-config(1).
 */
const settings: Readonly<Record<string, string>> = {
  // Nothing in a repository may run: no hooks, no monitors, no attributes of the host.
  "core.hooksPath": "/dev/null",
  "core.fsmonitor": "false",
  "core.attributesFile": "/dev/null",
  "core.excludesFile": "/dev/null",
  // Repositories are named by path, never found by looking upward; all of them are our own.
  "safe.bareRepository": "explicit",
  "safe.directory": "*",
  // A server-side child never opens a connection or another repository.
  "protocol.allow": "never",
  "protocol.file.allow": "never",
  // What is acknowledged survives a power cut: objects and refs are synced before the answer.
  "core.fsync": "committed",
  "core.fsyncMethod": "batch",
  // Whatever comes in is checked. The three exceptions are harmless and common in old histories.
  "transfer.fsckObjects": "true",
  "receive.fsck.badTimezone": "ignore",
  "receive.fsck.missingSpaceBeforeDate": "ignore",
  "receive.fsck.zeroPaddedFilemode": "ignore",
  // Only branches, tags and notes are the callers'; the last matching line wins.
  "transfer.hideRefs": "refs",
  "receive.maxInputSize": String(pushBytesMax),
  // What comes in stays as the pack it came in. Git would write up to a hundred objects one by one, each
  // inflated, deflated and synced again, however large they are; upkeep joins small packs.
  "transfer.unpackLimit": "1",
  // Two changes of refs at once wait for each other a moment instead of failing.
  "core.filesRefLockTimeout": "2000",
  "core.packedRefsTimeout": "10000",
  "receive.autogc": "false",
  "receive.denyDeleteCurrent": "refuse",
  "receive.denyNonFastForwards": "false",
  "receive.advertisePushOptions": "true",
  "receive.shallowUpdate": "false",
  // Partial clones later request single objects by id; those are in the same repository.
  "uploadpack.allowFilter": "true",
  "uploadpack.allowAnySHA1InWant": "true",
  "uploadpackfilter.allow": "true",
  "uploadpackfilter.sparse:oid.allow": "false",
  // Only the service starts maintenance, and within bounds.
  "gc.auto": "0",
  "maintenance.auto": "false",
  "pack.threads": "2",
  "pack.windowMemory": "256m",
  "core.bigFileThreshold": "64m",
  "protocol.version": "2",
};

/** Settings that are lists, beyond the first value given above. */
const furtherSettings: readonly (readonly [string, string])[] = [
  ["transfer.hideRefs", "!refs/heads"],
  ["transfer.hideRefs", "!refs/tags"],
  ["transfer.hideRefs", "!refs/notes"],
  // Fetched, never pushed: the versions of merge requests, which the service keeps.
  ["uploadpack.hideRefs", "!refs/merge-requests"],
];

/**
 * The whole environment of a git child. It is built from nothing: variables of the server, secrets
 * among them, do not reach it. Meanings: git(1), "Environment Variables".
 */
export function gitEnvironment(
  extra: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  return { ...environment, ...extra };
}

type Setting = readonly [key: string, value: string];

/** The same with more settings, which win over ours; not on a command line, where all would see them. */
export function gitEnvironmentWith(more: readonly Setting[]): Readonly<Record<string, string>> {
  return { ...environment, ...settingVariables([...allSettings, ...more]) };
}

const allSettings: readonly Setting[] = [...Object.entries(settings), ...furtherSettings];

const environment: Readonly<Record<string, string>> = {
  PATH: securePath,
  HOME: "/nonexistent",
  LC_ALL: "C.UTF-8",
  TZ: "UTC",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_ATTR_NOSYSTEM: "1",
  GIT_TERMINAL_PROMPT: "0",
  GIT_OPTIONAL_LOCKS: "0",
  // A path is a path: no glob and no ":(magic)" from a caller.
  GIT_LITERAL_PATHSPECS: "1",
  // An object id means that object, whatever refs/replace says.
  GIT_NO_REPLACE_OBJECTS: "1",
  // A commit missing from a partial pack is an error, never a reason to fetch.
  GIT_NO_LAZY_FETCH: "1",
  // Refs are files: we read some of them ourselves. Newer versions of git may make repositories otherwise.
  GIT_DEFAULT_REF_FORMAT: "files",
  ...settingVariables(allSettings),
};

function settingVariables(entries: readonly Setting[]): Readonly<Record<string, string>> {
  return Object.fromEntries([
    ["GIT_CONFIG_COUNT", String(entries.length)],
    ...entries.flatMap(([key, value], index) => [
      [`GIT_CONFIG_KEY_${index}`, key],
      [`GIT_CONFIG_VALUE_${index}`, value],
    ]),
  ]);
}
