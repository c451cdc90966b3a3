import { createRequire } from "node:module";

/** The used part of highlight.js, whose own types need those of browsers. */
type Highlight = Readonly<{
  getLanguage: (name: string) => object | undefined;
  highlight: (
    text: string,
    options: Readonly<{ language: string; ignoreIllegals: boolean }>,
  ) => Readonly<{ value: string }>;
}>;

/** Loaded in threads only: it is large, and a pattern may run away on some input. */
export const highlighter: Highlight = createRequire(import.meta.url)("highlight.js");
