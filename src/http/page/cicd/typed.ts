import { createHash } from "node:crypto";

import { type Option, type Sheet, type Typed, textOf } from "../common/sheet.ts";

/** Changes with what a form shows: what `mustBeAsSeen` compares for a thing without a time of its change. */
export const versionOf = (typed: Typed): string =>
  createHash("sha256").update(JSON.stringify(typed)).digest("base64url");

/** The form without a secret that was typed into it, and beside its field that it is needed again. */
export function withoutSecret(sheet: Sheet, field: string): Sheet {
  if (textOf(sheet, field) === "") return sheet;
  const { [field]: _, ...typed } = sheet.typed;
  if (sheet.failure === undefined) return { typed };
  const message = "Type it again: it is not shown.";
  const errors = [...sheet.failure.errors, { field, code: "form.secret_left_out", message }];
  return { typed, failure: { ...sheet.failure, errors } };
}

/** Of a field whose secret was left out: what was typed is not dropped unnoticed. */
export const neededAgain = (sheet: Sheet, field: string): Readonly<{ required?: true }> =>
  sheet.failure !== undefined && textOf(sheet, field) !== "" ? { required: true } : {};

/** The one box of a field that is on or off. */
export const box = (words: string): readonly Option[] => [{ value: "true", words }];

export const isTicked = (typed: Typed, name: string): boolean => textOf({ typed }, name) === "true";
