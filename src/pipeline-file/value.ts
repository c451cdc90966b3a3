import type { LineCounter } from "yaml";

/** A pipeline file: its name as messages give it, and what turns offsets into lines. */
export type SourceFile = Readonly<{ name: string; lines: LineCounter }>;

/** `!reference [job, key]`: a value elsewhere in the merged files. */
export class Reference {
  constructor(readonly path: readonly string[]) {}
}

export type YamlMap = { [key: string]: Yaml };
export type Yaml = null | boolean | number | string | Reference | readonly Yaml[] | YamlMap;

/** A file that holds more than may be read of one. */
export type TooLarge = Readonly<{ bytesMax: number }>;

/** What a file holds, if it is not too large. */
export type FileText = string | TooLarge;

/** Where a value stands in its file. */
export type Mark = Readonly<{ file: SourceFile; offset: number }>;

/** One mistake in a pipeline file. Line and column count from 1. */
export type FileProblem = Readonly<{
  file: string;
  line: number;
  column: number;
  /** The path of keys that leads to the mistake, for example `build.script`. */
  key: string;
  message: string;
}>;

/** The file cannot become a pipeline. It names at most `problemsMax` mistakes. */
export class PipelineFileError extends Error {
  override readonly name = "PipelineFileError";

  constructor(readonly problems: readonly FileProblem[]) {
    super(problems.map(problemText).join(" "));
  }
}

export const problemsMax = 20;

function problemText({ file, line, column, key, message }: FileProblem): string {
  const where = `${file}:${line}:${column}`;
  return key === "" ? `${where}: ${message}` : `${where}: ${key}: ${message}`;
}

export function isMap(value: Yaml | undefined): value is YamlMap {
  return (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof Reference)
  );
}

export function isList(value: Yaml | undefined): value is readonly Yaml[] {
  return Array.isArray(value);
}

/** Maps have no prototype, so a key such as `__proto__` is a key like any other. */
export function newMap(): YamlMap {
  return Object.create(null) as YamlMap;
}
