import { PatchCounter, type PatchSection } from "./patch.ts";

/** Letters of git-diff(1), "--diff-filter": added, deleted, modified, renamed, copied, type changed. */
export type ChangeStatus = "A" | "D" | "M" | "R" | "C" | "T";

/** One record of `--raw`. An absent side has the mode 000000 and the null id. */
export type ChangeRecord = Readonly<{
  status: ChangeStatus;
  /** Octal, six digits: 100644, 100755, 120000 (symbolic link), 160000 (submodule). */
  oldMode: string;
  newMode: string;
  oldId: string;
  newId: string;
  /** The same twice, but for renames and copies. Bytes that are not UTF-8 become U+FFFD. */
  oldPath: string;
  newPath: string;
}>;

export type CountedChange = ChangeRecord & PatchSection;

const zero = 0;

/**
 * Reads `git diff-tree -z --raw -p` as it streams: first the records, then a NUL, then a patch with a
 * section for each record, two for one whose type changed (git shows that as removed and added).
 */
export class DiffReader {
  readonly #counter = new PatchCounter();
  #records: ChangeRecord[] = [];
  #tokens: string[] = [];
  #held: Buffer[] = [];
  #inPatch = false;

  push(chunk: Buffer): void {
    if (this.#inPatch) this.#counter.push(chunk);
    else this.#readRecords(chunk);
  }

  #readRecords(chunk: Buffer): void {
    const buffer = this.#held.length === 0 ? chunk : Buffer.concat([...this.#held, chunk]);
    let position = 0;
    for (;;) {
      const end = buffer.indexOf(zero, position);
      if (end < 0) break;
      const token = buffer.subarray(position, end);
      position = end + 1;
      // The NUL alone between two records' worth of tokens ends the records.
      if (token.length === 0 && this.#tokens.length === 0) {
        this.#inPatch = true;
        this.#held = [];
        this.#counter.push(buffer.subarray(position));
        return;
      }
      this.#take(token.toString("utf8"));
    }
    const rest = buffer.subarray(position);
    this.#held = rest.length === 0 ? [] : [rest];
  }

  /** @throws Error when git printed something else than it should. */
  end(): readonly CountedChange[] {
    const sections = [...this.#counter.sections].reverse();
    const changes = this.#records.map((record): CountedChange => {
      const first = sections.pop();
      const second = record.status === "T" ? sections.pop() : undefined;
      if (first === undefined) throw new Error("A change without its patch");
      return { ...record, ...(second === undefined ? first : joined(first, second)) };
    });
    if (sections.length > 0) throw new Error("A patch of no change");
    return changes;
  }

  #take(token: string): void {
    this.#tokens.push(token);
    const [head = "", oldPath = "", newPath = oldPath] = this.#tokens;
    const [oldMode = "", newMode = "", oldId = "", newId = "", letter = ""] = head
      .slice(1)
      .split(" ");
    const status = letter.charAt(0) as ChangeStatus;
    const wanted = status === "R" || status === "C" ? 3 : 2;
    if (this.#tokens.length < wanted) return;
    this.#records.push({ status, oldMode, newMode, oldId, newId, oldPath, newPath });
    this.#tokens = [];
  }
}

function joined(first: PatchSection, second: PatchSection): PatchSection {
  return {
    headers: [...first.headers, ...second.headers],
    addedLines: first.addedLines + second.addedLines,
    removedLines: first.removedLines + second.removedLines,
    bytes: first.bytes + second.bytes,
    isBinary: first.isBinary || second.isBinary,
  };
}
