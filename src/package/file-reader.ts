import { stat } from "node:fs/promises";

import { ParserTask } from "../platform/parser/parser.ts";
import type { FileQuestion, FileReaders } from "./file-task.ts";

/** Beside what the size of the file allows. */
const timeoutMs = 30_000;
const bytesPerMs = 4 * 1024;

const task = new ParserTask<FileQuestion, unknown>({
  module: "package/file-task",
  timeoutMs,
  mebibytesMax: 512,
});

/** The function of that name, run in a process. It throws TooComplex and ParserBusy, too. */
function inProcess<Name extends keyof FileReaders>(name: Name): FileReaders[Name] {
  const read = async (...given: Parameters<FileReaders[Name]>): Promise<unknown> => {
    const [file] = given;
    const { size } = await stat(String(file));
    const question = { name, given } as FileQuestion;
    return await task.run(question, { timeoutMs: timeoutMs + size / bytesPerMs });
  };
  return read as unknown as FileReaders[Name];
}

export const checkNpmTarball = inProcess("checkNpmTarball");
export const checkPypiFile = inProcess("checkPypiFile");
export const goalPrefixIn = inProcess("goalPrefixIn");
export const readChart = inProcess("readChart");
export const readComposerPackage = inProcess("readComposerPackage");
export const readConda = inProcess("readConda");
export const readCran = inProcess("readCran");
export const readCrate = inProcess("readCrate");
export const readDeb = inProcess("readDeb");
export const readGem = inProcess("readGem");
export const readGoModule = inProcess("readGoModule");
export const readNpmManifest = inProcess("readNpmManifest");
export const readNuspec = inProcess("readNuspec");
export const readProvenance = inProcess("readProvenance");
export const readPypiFile = inProcess("readPypiFile");
export const readRpm = inProcess("readRpm");
export const readSymbolsNuspec = inProcess("readSymbolsNuspec");
