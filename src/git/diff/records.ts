import type { ChangeRecord, ChangeStatus } from "./change-record.ts";
import { PatchCounter, type PatchSection } from "./patch.ts";
import { headersOf } from "./patch-header.ts";

export type CountedChange = ChangeRecord & PatchSection;

const zero = 0;

/** `--numstat`: lines added and removed, each `-` for a binary file. A path follows, or two tokens do. */
const counted = /^(\d+|-)\t(\d+|-)\t(.?)/s;

/**
 * Reads `git diff-tree -z --raw` with `-p` or `--numstat` as it streams: first the records. Then a NUL
 * and a patch, with a section for each record, two for one whose type changed (git shows that as
 * removed and added). Or the counts for each record.
 */
export class DiffReader {
  readonly #counter = new PatchCounter();
  #records: ChangeRecord[] = [];
  #counts: PatchSection[] = [];
  #skipping = 0;
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
      if (token.length === 0 && this.#tokens.length === 0 && this.#skipping === 0) {
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
    const isCounted = this.#counts.length > 0;
    const sections = (isCounted ? this.#counts : [...this.#counter.sections]).toReversed();
    const changes = this.#records.map((record): CountedChange => {
      const first = sections.pop();
      const second = record.status === "T" && !isCounted ? sections.pop() : undefined;
      if (first === undefined) throw new Error("A change without its patch");
      if (isCounted) return { ...record, ...first, headers: headersOf(record) };
      return { ...record, ...(second === undefined ? first : joined(first, second)) };
    });
    if (sections.length > 0) throw new Error("A patch of no change");
    return changes;
  }

  #take(token: string): void {
    if (this.#tokens.length === 0 && !token.startsWith(":")) {
      this.#count(token);
      return;
    }
    this.#tokens.push(token);
    const [head = "", oldPath = "", newPath = oldPath] = this.#tokens;
    const [oldMode = "", newMode = "", oldId = "", newId = "", letter = ""] = head
      .slice(1)
      .split(" ");
    const status = letter.charAt(0) as ChangeStatus;
    const similarity = Number(letter.slice(1));
    const wanted = status === "R" || status === "C" ? 3 : 2;
    if (this.#tokens.length < wanted) return;
    this.#records.push({ status, similarity, oldMode, newMode, oldId, newId, oldPath, newPath });
    this.#tokens = [];
  }

  #count(token: string): void {
    if (this.#skipping > 0) {
      this.#skipping -= 1;
      return;
    }
    const [, added = "-", removed = "-", path = ""] = counted.exec(token) ?? [];
    if (path === "") this.#skipping = 2;
    const isBinary = added === "-";
    const lines = isBinary ? [0, 0] : [Number(added), Number(removed)];
    const [addedLines = 0, removedLines = 0] = lines;
    this.#counts.push({ headers: [], addedLines, removedLines, bytes: 0, isBinary });
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
