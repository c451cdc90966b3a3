import { buffer } from "node:stream/consumers";
import { z } from "zod";
import {
  coordinatesOf,
  type PackageName,
  packageFileIdOf,
  packageVersionIdOf,
} from "../../../../package/core/coordinates.ts";
import { readPypiFile } from "../../../../package/file-reader.ts";
import { pypiName, pypiVersion } from "../../../../package/pypi/format.ts";
import { escaped, pageAround } from "../../../../package/pypi/simple-page.ts";
import { Refusal } from "../../../../platform/refusal.ts";
import { mustBeStorable } from "../../../../platform/storable-text.ts";
import { listLivePackages } from "../../../../projections/package/live.ts";
import { PypiMetadata, PypiSummary } from "../../../../projections/package/pypi-summary.ts";
import { findListedFile, type ListedFile } from "../../../../projections/package/registry.ts";
import { fileNotFound, orNotFound } from "../../../api/package/request.ts";
import { emptyAnswer, streamAnswer } from "../../../core/answer.ts";
import { mustMatchClaims, orRelease } from "../../../core/file/checksum.ts";
import { receiveFiles } from "../../../core/file/multipart.ts";
import { joinedParts, type PartForm, partsOf, pieceAnswer } from "../core/part.ts";
import { sendFile } from "../core/send-file.ts";
import { deploymentOf, localSources, packageIdsFor, packageIdsIn } from "../core/source.ts";
import { change, receive, record, uploadBytesMax } from "../core/store.ts";
import {
  type NativeCall,
  type NativeRequest,
  plainError,
  type RegistryType,
} from "../core/type.ts";
import { htmlPageType, jsonType, page, simple, wantsJson } from "./page.ts";
import { pypiKeptPaths, pypiProxy } from "./proxy.ts";

const type = "pypi";
/** Of the form around the file: twine sends the whole description. */
const formBytesMax = 1024 ** 2;
const projectsMax = 100_000;

type Listed = Readonly<{
  file: ListedFile;
  url: string;
  requiresPython: string | null;
  metadataSha256: string | null;
}>;

const meta = { "api-version": "1.1" } as const;

const listProjects: NativeCall = {
  method: "GET",
  path: /^simple\/?$/,
  right: "read",
  operationId: "list-pypi-projects",
  async handle(native, deps) {
    const registryIds = (await localSources(native.repository, deps)).map(({ id }) => id);
    const rows = await listLivePackages(deps.db, registryIds, { limit: projectsMax, offset: 0 });
    const names = [...new Map(rows.map(({ name }) => [pypiName(name).key, name])).entries()];
    const projects = names.map(([, name]) => ({ name }));
    return simple(native, { meta, projects }, () =>
      page(
        "Projects",
        names.map(([key, name]) => `<a href="${native.base}/simple/${key}/">${escaped(name)}</a>`),
      ),
    );
  },
};

/** What the lists of a project show of a file, in both forms, which differ only in how it is written. */
function listed(file: ListedFile, key: string, base: string): Listed {
  const { requiresPython, textSha256: metadataSha256 } = shownOf(file);
  const path = [key, file.version, file.name].map(encodeURIComponent).join("/");
  return { file, url: `${base}/files/${path}`, requiresPython, metadataSha256 };
}

const shownOf = ({ metadata }: ListedFile): PypiSummary =>
  metadata === null
    ? { requiresPython: null, textSha256: null }
    : PypiSummary.parse(JSON.parse(metadata));

type Form = "html" | "json";

/** The files of a project; in JSON its versions as well. */
const projectForm = (form: Form, key: string, base: string): PartForm<undefined> => ({
  key: `pypi:${form}:${base}`,
  keyOf: ({ name }) => name,
  make(files) {
    const all = files.map((file) => listed(file, key, base));
    if (form === "html") return { texts: [all.map(anchor).join("\n")], summary: undefined };
    const versions = [...new Set(files.map(({ version }) => version))];
    const texts = [versions.map((version) => JSON.stringify(version)), all.map(jsonText)];
    return { texts: texts.map((each) => each.join(",")), summary: undefined };
  },
});

const getProject: NativeCall = {
  method: "GET",
  path: /^simple\/(?<name>[^/]+)\/?$/,
  right: "read",
  operationId: "get-pypi-project",
  async handle(native, deps) {
    const { params, repository, base, ctx } = native;
    const name = orNotFound(() => pypiName(params["name"] ?? ""));
    const { key } = name;
    const ids = await packageIdsIn(repository, { type, name }, deps);
    const form = wantsJson(native) ? "json" : "html";
    const parts = await partsOf(ids, projectForm(form, key, base), deps);
    if (params["name"] !== key || !ctx.path.endsWith("/")) {
      return { status: 301, headers: { Location: `${base}/simple/${key}/` }, body: "" };
    }
    if (form === "html") {
      const [head, tail] = pageAround(key);
      return pieceAnswer(htmlPageType, [head, ...joinedParts(parts, 0, "\n"), tail]);
    }
    const versions = joinedParts(parts, 0, ",");
    const files = joinedParts(parts, 1, ",");
    const head = `{"meta":${JSON.stringify(meta)},"name":${JSON.stringify(key)},"versions":[`;
    return pieceAnswer(jsonType, [head, ...versions, '],"files":[', ...files, "]}"]);
  },
};

const jsonText = (one: Listed): string => JSON.stringify(jsonFile(one));

function jsonFile({ file, url, requiresPython, metadataSha256 }: Listed) {
  return {
    filename: file.name,
    url,
    hashes: { sha256: file.sha256 },
    ...(requiresPython !== null && { "requires-python": requiresPython }),
    "core-metadata": metadataSha256 === null ? false : { sha256: metadataSha256 },
    yanked: file.yank_reason === null ? false : file.yank_reason || true,
    size: Number(file.bytes),
    "upload-time": file.created_at.toISOString(),
  };
}

function anchor({ file, url, requiresPython, metadataSha256 }: Listed): string {
  const attributes = [
    ["href", `${url}#sha256=${file.sha256}`],
    ["data-requires-python", requiresPython],
    ["data-core-metadata", metadataSha256 && `sha256=${metadataSha256}`],
    ["data-dist-info-metadata", metadataSha256 && `sha256=${metadataSha256}`],
    ["data-yanked", file.yank_reason],
  ] as const;
  const shown = attributes.flatMap(([key, value]) =>
    value === null ? [] : [`${key}="${escaped(value)}"`],
  );
  return `<a ${shown.join(" ")}>${escaped(file.name)}</a><br>`;
}

const download: NativeCall = {
  method: "GET",
  path: /^files\/(?<name>[^/]+)\/(?<version>[^/]+)\/(?<file>[^/]+)$/,
  right: "read",
  operationId: "download-pypi-file",
  async handle({ params, repository, request }, deps) {
    const { name = "", version = "", file = "" } = params;
    const of = orNotFound(() => ({ name: pypiName(name), version: pypiVersion(version) }));
    const ids = await packageIdsFor(repository, { type, name: of.name }, deps);
    const isMetadata = file.endsWith(".metadata");
    const fileName = isMetadata ? file.slice(0, -".metadata".length) : file;
    const idOf = (id: (typeof ids)[number]) =>
      packageFileIdOf(packageVersionIdOf(id, of.version), fileName);
    if (!isMetadata) return sendFile(ids.map(idOf), request, deps);
    for (const id of ids) {
      const row = await findListedFile(deps.db, idOf(id));
      const { text } = PypiMetadata.parse(JSON.parse(row?.metadata ?? "{}"));
      if (text !== null)
        return streamAnswer(200, { body: text, type: "text/plain; charset=utf-8" });
    }
    throw fileNotFound();
  },
};

const digestFields = {
  md5_digest: "md5",
  sha256_digest: "sha256",
  blake2_256_digest: "blake2b256",
} as const;

const upload: NativeCall = {
  method: "POST",
  path: /^(?:legacy\/?)?$/,
  right: "write",
  operationId: "upload-pypi-file",
  async handle({ repository, request, mustStill }, deps) {
    const target = await deploymentOf(repository, deps);
    const bytesMax = await uploadBytesMax(target, deps);
    const fields = new Map<string, string>();
    const incoming = request.incoming(bytesMax + formBytesMax);
    const further: Record<string, string> = {};
    const [received] = await receiveFiles(incoming, {
      key: "content",
      filesMax: 1,
      field: (key, value) => void fields.set(key, value),
      take: async ({ path, fileName, content }) => {
        if (path !== fileName) throw disagrees("file name", path, fileName || "one");
        const inspect = async (file: string) => {
          // Clients send it before the file.
          const wantsBlake2b = Boolean(fields.get("blake2_256_digest"));
          const { blake2b256, ...found } = await readPypiFile(file, fileName, wantsBlake2b);
          if (blake2b256 !== undefined) further["blake2b256"] = blake2b256;
          return found;
        };
        return await receive(content, { target, inspect }, request, deps);
      },
    });
    const claims = Object.entries(digestFields).map(([name, algorithm]) => {
      const sent = fields.get(name)?.trim() ?? "";
      return { name, algorithm, sent };
    });
    await orRelease(received, async () => {
      mustAgree(fields, received.inspected.packageName, received.inspected.version.key);
      mustMatchClaims(claims, { ...received.blob.digests, ...further }, "bad_request");
    });
    await record(received, { target, type, mustStill }, request, deps);
    return emptyAnswer(200);
  },
};

/** What the form says and what the file says must be the same. @throws Refusal */
function mustAgree(fields: ReadonlyMap<string, string>, name: PackageName, version: string): void {
  const action = fields.get(":action") ?? "";
  if (action !== "file_upload") throw disagrees(":action", action, "file_upload");
  const sentName = fields.get("name");
  if (sentName !== undefined && pypiName(sentName).key !== name.key) {
    throw disagrees("name", sentName, name.name);
  }
  const sentVersion = fields.get("version");
  if (sentVersion !== undefined && pypiVersion(sentVersion).key !== version) {
    throw disagrees("version", sentVersion, version);
  }
}

function disagrees(field: string, sent: string, found: string): Refusal {
  const message = `The form's ${field} is ${sent.slice(0, 100)}, and must be ${found}.`;
  return new Refusal("bad_request", "package.file_mismatch", message);
}

const yank: NativeCall = {
  method: "POST",
  path: /^simple\/(?<name>[^/]+)\/(?<version>[^/]+)\/(?<what>yank|unyank)$/,
  right: "write",
  operationId: "yank-pypi-version",
  async handle({ params, repository, request }, deps) {
    const target = await deploymentOf(repository, deps);
    const named = orNotFound(() => ({
      packageName: pypiName(params["name"] ?? ""),
      version: pypiVersion(params["version"] ?? ""),
    }));
    const { packageId, packageVersionId: id } = coordinatesOf(target.id, type, named);
    if (params["what"] === "unyank") {
      await change({ id, command: { type: "UnyankPackageVersion", packageId } }, request, deps);
      return emptyAnswer(200);
    }
    const reason = await reasonIn(request);
    await change({ id, command: { type: "YankPackageVersion", packageId, reason } }, request, deps);
    return emptyAnswer(200);
  },
};

const Reason = z.object({ reason: z.string().max(1_000).default("") });

async function reasonIn({ incoming }: NativeRequest["request"]): Promise<string> {
  const text = (await buffer(incoming(8 * 1024).body)).toString("utf8");
  if (text === "") return "";
  try {
    const { reason } = Reason.parse(JSON.parse(text));
    mustBeStorable(reason);
    return reason;
  } catch {
    const message = "The body is JSON with a reason of at most 1,000 characters, or nothing.";
    throw new Refusal("unprocessable", "request.invalid", message);
  }
}

export const pypiType: RegistryType = {
  packageType: type,
  proxy: pypiProxy,
  keptPaths: pypiKeptPaths,
  errorBody: plainError,
  calls: [listProjects, getProject, download, upload, yank],
};
