import { documentReader } from "../document-reader.ts";
import { askPackument, type PackumentAnswer, type PackumentQuestion } from "./packument.ts";

/** The same as `askPackument`, large documents in a thread; see documentReader. */
export const readPackument = documentReader<PackumentQuestion, PackumentAnswer>({
  ask: askPackument,
  program: "platform/package/packument-thread",
  atOnceBytesMax: 256 * 1024,
  timeoutMs: 60_000,
  // A document of 64 MiB takes some ten times as much while it is read.
  mebibytesMax: 1_024,
});
