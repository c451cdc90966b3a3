/** Letters of git-diff(1), "--diff-filter": added, deleted, modified, renamed, copied, type changed. */
export type ChangeStatus = "A" | "D" | "M" | "R" | "C" | "T";

/** One record of `--raw`. An absent side has the mode 000000 and the null id. */
export type ChangeRecord = Readonly<{
  status: ChangeStatus;
  /** Of a rename or copy, in percent. */
  similarity: number;
  /** Octal, six digits: 100644, 100755, 120000 (symbolic link), 160000 (submodule). */
  oldMode: string;
  newMode: string;
  oldId: string;
  newId: string;
  /** The same twice, but for renames and copies. Bytes that are not UTF-8 become U+FFFD. */
  oldPath: string;
  newPath: string;
}>;
