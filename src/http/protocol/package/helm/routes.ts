import semver from "semver";
import type { PackageFileName } from "../../../../package/core/coordinates.ts";
import { readChart, readProvenance } from "../../../../package/file-reader.ts";
import { helmName, helmVersion } from "../../../../package/helm/format.ts";
import { isRecord } from "../../../../platform/is-record.ts";
import { Refusal } from "../../../../platform/refusal.ts";
import type { ListedFile } from "../../../../projections/package/registry.ts";
import { packagesWithFiles } from "../../../../projections/package/registry-index.ts";
import { fileNotFound, orNotFound, versionNotFound } from "../../../api/package/request.ts";
import { jsonAnswer, textAnswer } from "../../../core/answer.ts";
import type { Deps } from "../../../core/deps.ts";
import { receiveFiles } from "../../../core/file/multipart.ts";
import { cachedDocument, filesNamed, metadataOf, stateOfRepository } from "../core/document.ts";
import { sendNamed } from "../core/send-file.ts";
import { deploymentOf } from "../core/source.ts";
import { deleteVersion, type Received, receive, recordAll, uploadBytesMax } from "../core/store.ts";
import type { NativeCall, NativeRequest, RegistryType } from "../core/type.ts";
import { storeUpload } from "../core/upload.ts";

const type = "helm";
const formBytesMax = 1024 ** 2;

/** A chart in an index; its address is relative, so that clients send credentials along. */
function indexed(file: ListedFile): Readonly<Record<string, unknown>> {
  const metadata = metadataOf(file);
  const chart = isRecord(metadata) ? metadata : {};
  return {
    ...chart,
    urls: [`charts/${encodeURIComponent(String(chart["name"]))}/${encodeURIComponent(file.name)}`],
    created: file.created_at.toISOString(),
    digest: file.sha256,
  };
}

const isChart = ({ name }: ListedFile): boolean => name.endsWith(".tgz");

const newestFirst = (a: ListedFile, b: ListedFile): number =>
  semver.compareBuild(b.version, a.version);

/** All charts by name, those of a name newest first; of a version, the first repository's. */
async function index({ repository }: NativeRequest, deps: Deps): Promise<Buffer> {
  const { key, sources, changedAt } = await stateOfRepository(repository, deps);
  const make = async (): Promise<Buffer> => {
    const charts = new Map<string, Map<string, ListedFile>>();
    for (const { id } of sources) {
      for await (const { row, files } of packagesWithFiles(deps.db, id)) {
        const versions = charts.get(row.name) ?? new Map<string, ListedFile>();
        charts.set(row.name, versions);
        for (const file of files) {
          if (isChart(file) && !versions.has(file.version)) versions.set(file.version, file);
        }
      }
    }
    const entries = [...charts].flatMap(([name, versions]) => {
      const texts = [...versions.values()]
        .sort(newestFirst)
        .map((file) => JSON.stringify(indexed(file)));
      return texts.length === 0 ? [] : [`${JSON.stringify(name)}:[${texts.join(",\n")}]`];
    });
    const generated = (changedAt ?? new Date(0)).toISOString();
    return Buffer.from(
      `{"apiVersion":"v1","generated":"${generated}","entries":{${entries.join(",\n")}}}\n`,
    );
  };
  return cachedDocument(`helm:${key}`, make, ({ length }) => length);
}

const getIndex: NativeCall = {
  method: "GET",
  path: /^index\.yaml$/,
  right: "read",
  operationId: "get-helm-index",
  // JSON is YAML, and quicker to read.
  handle: async (native, deps) =>
    textAnswer(await index(native, deps), "application/yaml; charset=utf-8"),
};

const download: NativeCall = {
  method: "GET",
  path: /^charts\/(?<name>[^/]+)\/(?<file>[^/]+\.tgz)(?<provenance>\.prov)?$/,
  right: "read",
  operationId: "download-helm-chart",
  async handle(native, deps) {
    const { name = "", file = "", provenance = "" } = native.params;
    const packageName = orNotFound(() => helmName(name));
    if (!file.startsWith(`${packageName.name}-`)) throw fileNotFound();
    const versionText = file.slice(packageName.name.length + 1, -".tgz".length);
    const version = orNotFound(() => helmVersion(versionText));
    const fileName = `${file}${provenance}`;
    return sendNamed(native, type, { packageName, version, fileName }, deps);
  },
};

const saved = () => jsonAnswer(201, { saved: true });

/** A form has the chart, its provenance or both. */
async function storeForm(native: NativeRequest, deps: Deps): Promise<void> {
  const { repository, request, mustStill } = native;
  const target = await deploymentOf(repository, deps);
  const bytesMax = (await uploadBytesMax(target, deps)) + formBytesMax;
  const received: readonly Received[] = await receiveFiles(request.incoming(bytesMax), {
    key: "chart",
    anyKey: true,
    filesMax: 2,
    take: ({ content, key }) => {
      const inspect: (file: string, bytes: number) => Promise<PackageFileName> =
        key === "prov" ? readProvenance : readChart;
      const isBeside = key === "prov";
      return receive(content, { target, inspect, isBeside }, request, deps);
    },
    field: () => undefined,
  });
  await recordAll(received, { target, type, mustStill }, request, deps);
}

const upload: NativeCall = {
  method: "POST",
  path: /^api\/charts$/,
  right: "write",
  operationId: "upload-helm-chart",
  async handle(native, deps) {
    const isForm = /^multipart\/form-data\b/i.test(native.request.header("content-type"));
    if (isForm) await storeForm(native, deps);
    else await storeUpload(native, { type, inspect: readChart }, deps);
    return saved();
  },
};

const put: NativeCall = {
  method: "PUT",
  path: /^(?:charts\/)?(?:[^/]+\/)?(?<file>[^/]+\.tgz)$/,
  right: "write",
  operationId: "put-helm-chart",
  async handle(native, deps) {
    const requested = native.params["file"];
    const inspect = async (file: string) => {
      const chart = await readChart(file);
      if (chart.fileName === requested) return chart;
      const message = `The chart is ${chart.fileName}, not ${requested}.`;
      throw new Refusal("unprocessable", "package.file_mismatch", message);
    };
    await storeUpload(native, { type, inspect }, deps);
    return saved();
  },
};

const uploadProvenance: NativeCall = {
  method: "POST",
  path: /^api\/prov$/,
  right: "write",
  operationId: "upload-helm-provenance",
  async handle(native, deps) {
    await storeUpload(native, { type, inspect: readProvenance }, deps);
    return saved();
  },
};

async function chartsNamed(native: NativeRequest, deps: Deps): Promise<readonly ListedFile[]> {
  const name = orNotFound(() => helmName(native.params["name"] ?? ""));
  const keyOf = (file: ListedFile) => `${file.version}/${file.name}`;
  const files = await filesNamed(native.repository, { type, name }, keyOf, deps);
  return files.filter(isChart).sort(newestFirst);
}

const list: NativeCall = {
  method: "GET",
  path: /^api\/charts(?:\/(?<name>[^/]+)(?:\/(?<version>[^/]+))?)?$/,
  right: "read",
  operationId: "list-helm-charts",
  async handle(native, deps) {
    const { name, version } = native.params;
    if (name === undefined) {
      const { entries } = JSON.parse((await index(native, deps)).toString()) as {
        entries: unknown;
      };
      return jsonAnswer(200, entries);
    }
    const files = await chartsNamed(native, deps);
    if (version === undefined) return jsonAnswer(200, files.map(indexed));
    const file = files.find((each) => each.version === version);
    if (file === undefined) throw versionNotFound();
    return jsonAnswer(200, indexed(file));
  },
};

const remove: NativeCall = {
  method: "DELETE",
  path: /^api\/charts\/(?<name>[^/]+)\/(?<version>[^/]+)$/,
  right: "write",
  operationId: "delete-helm-chart",
  async handle(native, deps) {
    const { name = "", version = "" } = native.params;
    const named = () => ({ packageName: helmName(name), version: helmVersion(version) });
    await deleteVersion(native, type, () => orNotFound(named), deps);
    return jsonAnswer(200, { deleted: true });
  },
};

export const helmType: RegistryType = {
  packageType: type,
  errorBody: (message) => ({
    type: "application/json",
    body: JSON.stringify({ error: message }),
  }),
  calls: [getIndex, download, upload, uploadProvenance, put, list, remove],
};
