import { badFile } from "./coordinates.ts";

export const isTextList = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((each) => typeof each === "string");

/** @throws Refusal 422 unless it is */
export function mustBe(is: boolean, where: string, what: string): void {
  if (!is) throw badFile(`${where} has to be ${what}.`);
}
