import { documentReader } from "../../platform/parser/document-reader.ts";
import { type PackumentAnswer, type PackumentQuestion, parsePackument } from "./packument.ts";

/** The same as `parsePackument`, large documents in a process; see documentReader. */
export const readPackument = documentReader<PackumentQuestion, PackumentAnswer>({
  parse: parsePackument,
  module: "package/npm/packument-task",
  atOnceBytesMax: 64 * 1024,
  timeoutMs: 60_000,
  // A document of 64 MiB takes some ten times as much while it is read.
  mebibytesMax: 1_024,
});
