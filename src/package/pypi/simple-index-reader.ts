import { documentReader } from "../../platform/parser/document-reader.ts";
import {
  parseSimpleIndex,
  type SimpleIndexAnswer,
  type SimpleIndexQuestion,
} from "./simple-index.ts";

/** The same as `parseSimpleIndex`, large lists in a process; see documentReader. */
export const readSimpleIndex = documentReader<SimpleIndexQuestion, SimpleIndexAnswer>({
  parse: parseSimpleIndex,
  module: "package/pypi/simple-index-task",
  atOnceBytesMax: 64 * 1024,
  timeoutMs: 30_000,
  mebibytesMax: 512,
});
