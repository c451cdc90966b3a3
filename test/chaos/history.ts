import { appendFileSync } from "node:fs";

/** What was tried and what came of it, a line of JSON each. */
export type Entry = Readonly<{
  /** Milliseconds since the start. */
  at: number;
  /** `kill`, `write`, `read`. */
  kind: string;
  what: string;
  /** Of the answer; 0 when the connection broke. */
  status?: number;
  detail?: string;
}>;

export class History {
  readonly entries: Entry[] = [];
  readonly #startedAt = performance.now();

  /** @param file keeps the history when the run fails */
  constructor(readonly file: string) {}

  note(entry: Omit<Entry, "at">): void {
    const noted = { at: Math.round(performance.now() - this.#startedAt), ...entry };
    this.entries.push(noted);
    appendFileSync(this.file, `${JSON.stringify(noted)}\n`);
  }

  /** Answers that show a fault, also while processes are killed. */
  faults(): readonly Entry[] {
    return this.entries.filter(({ kind, status = 0 }) => kind === "fault" || status === 500);
  }
}
