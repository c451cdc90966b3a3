type Command = readonly [program: string, args: readonly string[]];

/** Of a program that makes an archive: in one piece, and in all. In kibibytes where the shell wants them. */
const pieceMax = "512m";
const allKibibytesMax = 1024 ** 2;

/**
 * Variables for a git that makes an archive. It expands the placeholders of `export-subst` in memory, some
 * bytes to sixteen kilobytes each.
 */
export const archiveLimit: Readonly<Record<string, string>> = { GIT_ALLOC_LIMIT: pieceMax };

/**
 * A git whose memory, and that of the programs it starts, is limited by the kernel: git-archive(1) holds the
 * list of all files, in pieces that no limit on a single one counts. Packs that it maps are not counted;
 * setrlimit(2), RLIMIT_DATA. Where the system has no such limit, it runs without.
 */
export function withinMemory(args: readonly string[]): Command {
  return [
    "sh",
    ["-c", `ulimit -d ${allKibibytesMax} 2>/dev/null; exec "$@"`, "sh", "git", ...args],
  ];
}
