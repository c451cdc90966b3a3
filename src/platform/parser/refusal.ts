import { Refusal } from "../refusal.ts";

/** A document takes more time or memory than its task may take. */
export class TooComplex extends Refusal {
  constructor(limit: "time" | "memory") {
    const what = limit === "time" ? "too long" : "too much memory";
    super("unprocessable", "file.too_complex", `The file takes ${what} to read.`);
  }
}

/** Too many documents wait to be read, of all callers or of this one. */
export class ParserBusy extends Refusal {
  constructor() {
    const message = "Too many files wait to be read. Try again in a few seconds.";
    super("unavailable", "file.busy", message, { retryAfterSeconds: 5 });
  }
}
