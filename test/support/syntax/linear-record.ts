import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";

import { packageRoot } from "../../../src/platform/installation.ts";

const file = path.join(packageRoot, "test/support/syntax/linear-expressions.txt");

/** Expressions that were found to be linear: to analyse all of them takes minutes. */
export async function recorded(): Promise<ReadonlySet<string>> {
  const text = await readFile(file, "utf8").catch(() => "");
  return new Set(text.split("\n").filter((line) => line !== ""));
}

export async function record(patterns: Iterable<string>): Promise<void> {
  await writeFile(file, `${[...new Set(patterns)].sort().join("\n")}\n`);
}

export type Exception = Readonly<{
  pattern: RegExp;
  /** Why it stands as it is. */
  reason: string;
  /** The code that bounds the length of its text. */
  bound: Readonly<{ file: string; code: string }>;
  lengthMax: number;
}>;

const ofReferences = {
  reason: "it looks around itself for the ends of words",
  bound: { file: "src/platform/text-reference.ts", code: "text.slice(0, lengthMax)" },
  lengthMax: 65_536,
};

/** Expressions that the detector does not analyse; the test measures each with texts of the length that is allowed. */
export const exceptions: readonly Exception[] = [
  {
    pattern:
      /(?<![\w/.&#!-])(?:[A-Za-z0-9][A-Za-z0-9._-]{0,63}\/[A-Za-z0-9][A-Za-z0-9._-]{0,63})?[#!][1-9]\d{0,9}(?!\w)|(?<![0-9A-Za-z])[0-9a-f]{40}(?:[0-9a-f]{24})?(?![0-9A-Za-z])/g,
    ...ofReferences,
  },
  {
    pattern: /(?<![\p{L}\p{M}\p{N}_@/.-])@([A-Za-z0-9][A-Za-z0-9._-]{0,63})(?![\w@.-]|\/[\w*])/gu,
    ...ofReferences,
  },
  {
    pattern:
      /^v2\/conans\/(?<name>[^/]+)\/(?<version>[^/]+)\/(?<user>[^/]+)\/(?<channel>[^/]+)\/revisions\/(?<recipe>[^/]+)(?:\/packages\/(?<id>[^/]+)\/revisions\/(?<binary>[^/]+))?\/files\/(?<path>.+)$/,
    reason: "it has so many parts that to analyse it takes minutes",
    bound: {
      file: "src/http/protocol/package/core/native.ts",
      code: "rest.length > pathLengthMax",
    },
    lengthMax: 4_096,
  },
];

export const isException = (pattern: string): boolean =>
  exceptions.some((exception) => String(exception.pattern) === pattern);

/** Expressions that are not made of constants, by their code, and why each is no matter. */
export const madeElsewhere: Readonly<Record<string, string>> = {
  'new RegExp(wanted.source, "i")': "the literals that it is passed are checked where they stand",
  "new RegExp(regex, flags)":
    "filters of the embedded event store, which runs them in a process of its own with a limit of time",
};
