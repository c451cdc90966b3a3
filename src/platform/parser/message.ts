import type { RefusalDetails, RefusalKind } from "../refusal.ts";

/** What a process that parses receives. */
export type ToParser =
  | Readonly<{ kind: "run"; module: string; question: unknown }>
  | Readonly<{ kind: "reply"; request: number; reply: unknown }>;

/** What it sends. */
export type FromParser =
  /** The module of the task is loaded, and the task begins. */
  | Readonly<{ kind: "begun" }>
  /** The task needs to know something before it goes on. */
  | Readonly<{ kind: "request"; request: number; wanted: unknown }>
  | Readonly<{ kind: "done"; answer: unknown }>
  | Readonly<{ kind: "refused"; refusal: PlainRefusal }>
  | Readonly<{ kind: "failed"; reason: string }>;

export type PlainRefusal = Readonly<{
  kind: RefusalKind;
  code: string;
  message: string;
  details: RefusalDetails;
}>;
