import { ParserTask } from "../parser/parser.ts";
import { type ReadManifest, readManifest } from "./manifest.ts";
import type { ManifestQuestion } from "./manifest-task.ts";

/** What is smaller takes a few milliseconds where it is. */
const atOnceBytesMax = 64 * 1024;

const task = new ParserTask<ManifestQuestion, ReadManifest>({
  module: "platform/container/manifest-task",
  timeoutMs: 5_000,
  mebibytesMax: 512,
});

/** The same as `readManifest`, a large one in a process. @throws Refusal 400, TooComplex, ParserBusy */
export async function readAnyManifest(bytes: Buffer, contentType: string): Promise<ReadManifest> {
  if (bytes.length <= atOnceBytesMax) return readManifest(bytes, contentType);
  return await task.run({ bytes, contentType });
}
