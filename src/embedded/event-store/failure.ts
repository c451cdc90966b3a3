import type { ExpectedRevision } from "./event.ts";

/** Why a request was not carried out; the service layer says it in the protocol's words. */
export type Failure =
  | Readonly<{
      kind: "wrongExpectedRevision";
      stream: string;
      expected: ExpectedRevision;
      /** Undefined when the stream has no events. */
      current: bigint | undefined;
    }>
  | Readonly<{ kind: "streamDeleted"; stream: string }>
  | Readonly<{ kind: "appendTooLarge"; bytesMax: number }>
  | Readonly<{ kind: "missingProperties"; names: readonly string[] }>
  | Readonly<{ kind: "invalid"; message: string }>
  | Readonly<{ kind: "timeout" }>
  /** Nothing more is known: the append may or may not have been stored. */
  | Readonly<{ kind: "unavailable"; message: string }>;

export class StoreFailure extends Error {
  override readonly name = "StoreFailure";

  constructor(readonly failure: Failure) {
    super("message" in failure ? failure.message : failure.kind);
  }
}

export function invalid(message: string): StoreFailure {
  return new StoreFailure({ kind: "invalid", message });
}

export function unavailable(message: string): StoreFailure {
  return new StoreFailure({ kind: "unavailable", message });
}
