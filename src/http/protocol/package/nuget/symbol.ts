import { packageFilesMax, tooManyFiles } from "../../../../commands/package/version.ts";
import { coordinatesOf } from "../../../../package/core/coordinates.ts";
import { readSymbolsNuspec } from "../../../../package/file-reader.ts";
import { nugetFileName } from "../../../../package/nuget/format.ts";
import { type Pdb, pdbFileName, symbolKey, takePdbs } from "../../../../package/nuget/symbols.ts";
import { Refusal } from "../../../../platform/refusal.ts";
import { filesOfVersion, versionsWithIds } from "../../../../projections/package/registry.ts";
import { type SymbolMetadata, symbolFiles } from "../../../../projections/package/symbol.ts";
import type { RegistryRepositoryRow } from "../../../../projections/registry/repository.ts";
import { fileNotFound } from "../../../api/package/request.ts";
import { emptyAnswer } from "../../../core/answer.ts";
import type { Deps } from "../../../core/deps.ts";
import { sendFile } from "../core/send-file.ts";
import { deploymentOf, localSources } from "../core/source.ts";
import {
  type Inspected,
  type Received,
  recordAll,
  uploadBytesMax,
  uploadRoom,
} from "../core/store.ts";
import type { NativeCall } from "../core/type.ts";
import { storeUpload } from "../core/upload.ts";
import { type } from "./package.ts";

/** learn.microsoft.com/nuget/api/symbol-package-publish-resource. */
const push: NativeCall = {
  method: "PUT",
  path: /^(?:api\/v2\/)?symbolpackage\/?$/,
  right: "write",
  operationId: "push-nuget-symbols",
  async handle(native, deps) {
    const target = await deploymentOf(native.repository, deps);
    const pdbs: Received[] = [];
    const inspect = (file: string) => inspectSymbols(file, { target, pdbs }, deps);
    try {
      // First: where nothing is overwritten it refuses others.
      await storeUpload(native, { type, inspect, ignoresFurther: true }, deps);
    } catch (error) {
      for (const { blob } of pdbs) await blob.release();
      throw error;
    }
    const { mustStill, request } = native;
    await recordAll(pdbs, { target, type, mustStill }, request, deps);
    return emptyAnswer(201);
  },
};

type Symbols = Readonly<{ target: RegistryRepositoryRow; pdbs: Received[] }>;

/** Stores and holds the PDBs of a symbol package. @throws Refusal 404, 422 */
async function inspectSymbols(
  file: string,
  { target, pdbs }: Symbols,
  deps: Deps,
): Promise<Inspected> {
  const { packageName, version } = await readSymbolsNuspec(file);
  const of = { packageName, version, languageVersion: null };
  const { packageVersionId: id } = coordinatesOf(target.id, type, of);
  if (!(await versionsWithIds(deps.db, [id])).has(id)) {
    const message = "There is no such version of the package. Push it before its symbols.";
    throw new Refusal("not_found", "package_version.not_found", message);
  }
  const bytesMax = await uploadBytesMax(target, deps);
  const fileName = nugetFileName(packageName, version).replace(/nupkg$/, "snupkg");
  // Each is recorded by itself: all of them have to fit before the first one is.
  const check = async (all: readonly Pdb[]): Promise<void> => {
    const present = (await filesOfVersion(deps.db, id)).map(({ name }) => name);
    const names = new Set([...present, fileName, ...all.map(pdbFileName)]);
    if (names.size > packageFilesMax) throw tooManyFiles();
  };
  await takePdbs(file, { bytesMax, check }, async (pdb, content) => {
    const room = await uploadRoom(target, undefined, deps);
    const blob = await deps.blobs.put(content, { bytesMax, room });
    const metadata: SymbolMetadata = { symbol: symbolKey(pdb) };
    pdbs.push({ inspected: { ...of, fileName: pdbFileName(pdb), metadata }, blob });
  });
  return { ...of, fileName };
}

/**
 * As debuggers query a symbol server: github.com/dotnet/symstore, "SSQP Key Conventions". The age of a portable PDB is
 * `FFFFFFFF`, and not read: the GUID names it.
 */
const download: NativeCall = {
  method: "GET",
  path: /^symbols\/(?<name>[^/]+\.pdb)\/(?<guid>[0-9a-f]{32})[0-9a-f]{1,8}\/(?<again>[^/]+)$/i,
  right: "read",
  operationId: "download-nuget-symbols",
  async handle({ params, repository, request }, deps) {
    const { name = "", guid = "", again = "" } = params;
    if (name.toLowerCase() !== again.toLowerCase()) throw fileNotFound();
    const sources = await localSources(repository, deps);
    const ids = sources.map(({ id }) => id);
    return sendFile(await symbolFiles(deps.db, ids, symbolKey({ name, guid })), request, deps);
  },
};

export const symbolCalls: readonly NativeCall[] = [push, download];
