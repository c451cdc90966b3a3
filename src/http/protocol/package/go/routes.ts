import { z } from "zod";
import {
  type PackageName,
  packageFileIdOf,
  packageVersionIdOf,
} from "../../../../package/core/coordinates.ts";
import { readGoModule } from "../../../../package/file-reader.ts";
import {
  compareGo,
  goFileName,
  goModule,
  goQueried,
  goVersion,
  isGoVersion,
  isPseudoVersion,
  unescapedGo,
} from "../../../../package/go/format.ts";
import { findListedFile, type ListedFile } from "../../../../projections/package/registry.ts";
import { orNotFound, packageNotFound, versionNotFound } from "../../../api/package/request.ts";
import { type Answer, emptyAnswer, jsonAnswer, textAnswer } from "../../../core/answer.ts";
import type { Deps } from "../../../core/deps.ts";
import { filesNamed, metadataOf } from "../core/document.ts";
import { sendFile } from "../core/send-file.ts";
import { packageIdsFor } from "../core/source.ts";
import { deleteVersion } from "../core/store.ts";
import {
  type NativeCall,
  type NativeRequest,
  plainError,
  type RegistryType,
} from "../core/type.ts";
import { storeUpload } from "../core/upload.ts";

const type = "go";
const Metadata = z.object({ mod: z.string().catch("") });

function moduleIn({ params }: Pick<NativeRequest, "params">): PackageName {
  const path = unescapedGo(params["module"] ?? "");
  if (path === undefined) throw packageNotFound();
  return orNotFound(() => goModule(path));
}

function versionIn({ params }: Pick<NativeRequest, "params">, name: PackageName) {
  const version = unescapedGo(params["version"] ?? "");
  if (version === undefined) throw versionNotFound();
  return orNotFound(() => goVersion(version, name));
}

const isPrerelease = (version: string): boolean => version.includes("-");

/** Of the first member that has the module: two of them may have different ones under its name. */
async function filesOf(native: NativeRequest, deps: Deps): Promise<readonly ListedFile[]> {
  const name = moduleIn(native);
  const all = await filesNamed(native.repository, { type, name }, ({ id }) => id, deps);
  const [first] = all;
  return all.filter(({ package_id }) => package_id === first?.package_id);
}

/** go.dev/ref/mod#goproxy-protocol */
const list: NativeCall = {
  method: "GET",
  path: /^(?<module>.+)\/@v\/list$/,
  right: "read",
  operationId: "list-go-versions",
  async handle(native, deps) {
    const versions = (await filesOf(native, deps)).map(({ version }) => version);
    const shown = versions.filter((each) => !isPseudoVersion(each)).sort(compareGo);
    return textAnswer(shown.map((each) => `${each}\n`).join(""));
  },
};

const info = ({ version, version_created_at: at }: ListedFile): Answer =>
  jsonAnswer(200, { Version: version, Time: at.toISOString() });

const latest: NativeCall = {
  method: "GET",
  path: /^(?<module>.+)\/@latest$/,
  right: "read",
  operationId: "get-latest-go-version",
  async handle(native, deps) {
    const files = [...(await filesOf(native, deps))].sort((a, b) =>
      compareGo(a.version, b.version),
    );
    const released = files.filter(({ version }) => !isPrerelease(version));
    const tagged = files.filter(({ version }) => !isPseudoVersion(version));
    const found = released.at(-1) ?? tagged.at(-1) ?? files.at(-1);
    if (found === undefined) throw packageNotFound();
    return info(found);
  },
};

async function fileIdsAt(native: NativeRequest, deps: Deps): Promise<readonly string[]> {
  const name = moduleIn(native);
  const version = versionIn(native, name);
  const ids = await packageIdsFor(native.repository, { type, name }, deps);
  return ids.map((id) => packageFileIdOf(packageVersionIdOf(id, version), goFileName(version)));
}

/** Undefined where the query is a version of the module itself. */
async function fileQueried(native: NativeRequest, deps: Deps): Promise<ListedFile | undefined> {
  const query = unescapedGo(native.params["version"] ?? "") ?? "";
  if (isGoVersion(query, moduleIn(native))) return undefined;
  const files = await filesOf(native, deps);
  const version = goQueried(
    query,
    files.map((file) => file.version),
  );
  return files.find((file) => file.version === version);
}

const getFile: NativeCall = {
  method: "GET",
  path: /^(?<module>.+)\/@v\/(?<version>[^/]+)\.(?<kind>info|mod|zip)$/,
  right: "read",
  operationId: "get-go-file",
  async handle(native, deps) {
    const { kind } = native.params;
    const queried = kind === "info" ? await fileQueried(native, deps) : undefined;
    if (queried !== undefined) return info(queried);
    const fileIds = await fileIdsAt(native, deps);
    if (kind === "zip") return sendFile(fileIds, native.request, deps);
    for (const id of fileIds) {
      const file = await findListedFile(deps.db, id);
      if (file === undefined) continue;
      return kind === "info" ? info(file) : textAnswer(Metadata.parse(metadataOf(file)).mod);
    }
    throw versionNotFound();
  },
};

const upload: NativeCall = {
  method: "PUT",
  path: /^upload\/?$/,
  right: "write",
  operationId: "upload-go-module",
  async handle(native, deps) {
    // What go.sum names has the same content for ever.
    const stored = await storeUpload(
      native,
      { type, inspect: readGoModule, isImmutable: true },
      deps,
    );
    const { packageName, version } = stored.inspected;
    return jsonAnswer(201, { Path: packageName.name, Version: version.version });
  },
};

const remove: NativeCall = {
  method: "DELETE",
  path: /^(?<module>.+)\/@v\/(?<version>[^/]+)$/,
  right: "write",
  operationId: "delete-go-version",
  async handle(native, deps) {
    const named = () => {
      const packageName = moduleIn(native);
      return { packageName, version: versionIn(native, packageName) };
    };
    await deleteVersion(native, type, named, deps);
    return emptyAnswer(204);
  },
};

export const goType: RegistryType = {
  packageType: type,
  errorBody: plainError,
  calls: [list, latest, getFile, upload, remove],
};
