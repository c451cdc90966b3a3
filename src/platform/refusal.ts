export type RefusalKind =
  | "bad_request"
  | "forbidden"
  | "not_found"
  | "not_allowed"
  | "conflict"
  | "too_large"
  | "unprocessable"
  | "too_many"
  | "unavailable";

/** One thing wrong with the input: with one field of it, or, where `field` is empty, with the whole. */
export type FieldError = Readonly<{ field: string; code: string; message: string }>;

export type RefusalDetails = Readonly<{
  /** Listed in the answer to a 422, which without them lists the refusal itself. */
  errors?: readonly FieldError[];
  /** Sent as Retry-After. */
  retryAfterSeconds?: number;
  /** Further members of the problem document, for example the files in conflict. */
  extra?: Readonly<Record<string, unknown>>;
}>;

/** A request that was understood and is refused. `code` is stable and dotted: `project.not_found`. */
export class Refusal extends Error {
  override readonly name = "Refusal";

  constructor(
    readonly kind: RefusalKind,
    readonly code: string,
    message: string,
    readonly details: RefusalDetails = {},
  ) {
    super(message);
  }
}
