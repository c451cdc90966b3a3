import type { FieldError } from "../../platform/refusal.ts";

/** RFC 9457, with `code` and `message` for clients that know those names. */
export type Problem = Readonly<{
  type: string;
  title: string;
  status: number;
  detail: string;
  instance: string;
  code: string;
  message: string;
  requestId: string;
  errors?: readonly FieldError[];
}>;
