import { type MaskedForms, maskPiece } from "./mask.ts";

export type MaskQuestion = Readonly<{ joined: Buffer; forms: MaskedForms }>;
export type MaskAnswer = ReturnType<typeof maskPiece>;

/** A log that is made for it takes a time of its length for each of the forms. */
export const run = ({ joined, forms }: MaskQuestion): MaskAnswer => maskPiece(joined, forms);
