/** How many paths are kept or shown, and how many bytes they have together. */
type PathLimits = Readonly<{ countMax: number; bytesMax: number }>;

/** Of each merge. */
const conflictsMax: PathLimits = { countMax: 1_000, bytesMax: 64 * 1024 };
/** Where several merges are listed. */
export const conflictsListedMax: PathLimits = { countMax: 100, bytesMax: 8 * 1024 };

/** The first of these paths. */
export function shortened(
  paths: readonly string[],
  { countMax, bytesMax }: PathLimits,
): readonly string[] {
  let bytes = 0;
  const isBeyond = (path: string, index: number): boolean => {
    bytes += Buffer.byteLength(path);
    return index === countMax || bytes > bytesMax;
  };
  const end = paths.findIndex(isBeyond);
  return end < 0 ? paths : paths.slice(0, end);
}

/** A path without what git adds to it where a directory, or something of another kind, leaves no place for the file. */
function withoutSide(path: string, commits: readonly string[]): string {
  const at = path.lastIndexOf("~");
  const [side = "", number = "0"] = path.slice(at + 1).split("_");
  return at > 0 && commits.includes(side) && /^\d+$/.test(number) ? path.slice(0, at) : path;
}

/**
 * Reads what git-merge-tree(1) prints with `-z --name-only`: the tree, and each path in conflict once, in order. Paths
 * are those that a side has: a file that git renamed while it merged has its name of before. Holds few of the paths
 * however many there are.
 */
export class MergeOutput {
  treeId: string | undefined;
  readonly conflicts: string[] = [];
  /** Of all paths, also those that are not in `conflicts`. */
  conflictsCount = 0;
  #bytesLeft = conflictsMax.bytesMax;
  /** Beginning of the record that has not ended. */
  #begun: Buffer = Buffer.alloc(0);

  /** @param commits ids of the two that are merged, by which git calls the sides */
  constructor(readonly commits: readonly string[]) {}

  take(chunk: Buffer): void {
    let from = 0;
    for (let end = chunk.indexOf(0); end >= 0; end = chunk.indexOf(0, from)) {
      this.#begin(chunk.subarray(from, end));
      this.#record(this.#begun);
      this.#begun = Buffer.alloc(0);
      from = end + 1;
    }
    this.#begin(chunk.subarray(from));
  }

  /** Of a longer record it is enough to know that it is too long. */
  #begin(part: Buffer): void {
    const lengthMax = conflictsMax.bytesMax + 1;
    if (part.length === 0 || this.#begun.length === lengthMax) return;
    this.#begun = Buffer.concat([this.#begun, part]).subarray(0, lengthMax);
  }

  #record(record: Buffer): void {
    if (record.length === 0) return;
    if (this.treeId === undefined) {
      this.treeId = record.toString("latin1");
      return;
    }
    const printed = record.toString();
    const path = withoutSide(printed, this.commits);
    const isRenamed = path !== printed;
    if (isRenamed && this.conflicts.includes(path)) return;
    this.conflictsCount += 1;
    this.#bytesLeft -= record.length;
    if (this.#bytesLeft < 0 || this.conflicts.length === conflictsMax.countMax) return;
    if (isRenamed) this.#insert(path);
    else this.conflicts.push(path);
  }

  /** A path that is shorter than it was printed may belong before others. */
  #insert(path: string): void {
    const bytes = Buffer.from(path);
    const before = this.conflicts.findLastIndex((each) => bytes.compare(Buffer.from(each)) > 0);
    this.conflicts.splice(before + 1, 0, path);
  }
}
