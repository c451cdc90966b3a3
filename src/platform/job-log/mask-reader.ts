import { ParserTask } from "../parser/parser.ts";
import { type MaskedForms, mask, maskPiece } from "./mask.ts";
import type { MaskAnswer, MaskQuestion } from "./mask-task.ts";

/** Bytes times forms: ten nanoseconds each at worst. */
const atOnceMax = 500_000;
const endMax = 5_000_000;

const task = new ParserTask<MaskQuestion, MaskAnswer>({
  module: "platform/job-log/mask-task",
  timeoutMs: 20_000,
  mebibytesMax: 256,
  perCallerMax: 32,
});

/**
 * The same as `maskPiece`, in a process when it may take long.
 *
 * @throws TooComplex, ParserBusy
 */
export async function maskNextPiece(joined: Buffer, forms: MaskedForms): Promise<MaskAnswer> {
  if (joined.length * forms.length <= atOnceMax) return maskPiece(joined, forms);
  return await task.run({ joined, forms });
}

/** Masks the end of a log. One that takes long is hidden: it is short, and held back because it may begin a value. */
export function maskEnd(left: Buffer, forms: MaskedForms, line: Buffer): Buffer {
  if (left.length * forms.length <= endMax) return mask(Buffer.concat([left, line]), forms);
  return Buffer.concat([Buffer.alloc(left.length, "*"), line]);
}
