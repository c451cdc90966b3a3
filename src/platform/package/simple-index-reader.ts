import { documentReader } from "../document-reader.ts";
import {
  askSimpleIndex,
  type SimpleIndexAnswer,
  type SimpleIndexQuestion,
} from "./simple-index.ts";

/** The same as `askSimpleIndex`, large lists in a thread; see documentReader. */
export const readSimpleIndex = documentReader<SimpleIndexQuestion, SimpleIndexAnswer>({
  ask: askSimpleIndex,
  program: "platform/package/simple-index-thread",
  atOnceBytesMax: 128 * 1024,
  timeoutMs: 30_000,
  mebibytesMax: 512,
});
