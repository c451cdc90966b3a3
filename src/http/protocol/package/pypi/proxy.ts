import type { PackageName } from "../../../../package/core/coordinates.ts";
import { pypiName } from "../../../../package/pypi/format.ts";
import type {
  SimpleIndexAnswer,
  SimpleIndexQuestion,
} from "../../../../package/pypi/simple-index.ts";
import { readSimpleIndex } from "../../../../package/pypi/simple-index-reader.ts";
import { invariant } from "../../../../platform/invariant.ts";
import { fileNotFound, orNotFound } from "../../../api/package/request.ts";
import type { Answer } from "../../../core/answer.ts";
import type { Deps } from "../../../core/deps.ts";
import type { NativeRequest, ProxyCall } from "../core/type.ts";
import { upstreamDocument } from "../proxy/document.ts";
import { documentsFor } from "../proxy/document-budget.ts";
import { upstreamFile } from "../proxy/file.ts";
import type { Promised } from "../proxy/shared-download.ts";
import { failed, type ProxyRepository, proxyOf, upstreamUrl } from "../proxy/upstream.ts";
import { htmlPageType, jsonType, wantsJson } from "./page.ts";

const accept = `${jsonType}, text/html;q=0.5`;

const names = (params: NativeRequest["params"]) => pypiName(params["name"] ?? "");

/** The simple API is below `simple/`, unless the proxy's URL ends with it. */
function projectUrl(proxy: ProxyRepository, key: string): string {
  const isSimple = /\/simple\/*$/.test(proxy.settings.url);
  return upstreamUrl(proxy, `${isSimple ? "" : "simple/"}${key}/`);
}

/** @throws Refusal 404; HttpRefusal 502 */
async function simpleIndex(
  native: NativeRequest,
  want: SimpleIndexQuestion["want"],
  deps: Deps,
): Promise<SimpleIndexAnswer> {
  const proxy = proxyOf(native.repository);
  const { key } = orNotFound(() => names(native.params));
  const url = projectUrl(proxy, key);
  const at = { path: `simple/${key}`, url, accept };
  const { bytes, type } = await upstreamDocument({ proxy, ctx: native.ctx }, at, deps);
  const answer = await readSimpleIndex({ bytes, isJson: /json/.test(type), url, want });
  documentsFor(native.ctx).set(answer?.kind === "list" ? answer.bytes.length : 0);
  if (answer === undefined || answer.kind === "malformed") {
    throw failed("The external registry answered what is no list of files.");
  }
  return answer;
}

const getProject: ProxyCall = {
  path: /^simple\/(?<name>[^/]+)\/?$/,
  operationId: "get-proxied-pypi-project",
  names,
  async handle(native, deps): Promise<Answer> {
    const { key: name } = orNotFound(() => names(native.params));
    const { base } = native;
    if (native.params["name"] !== name || !native.ctx.path.endsWith("/")) {
      return { status: 301, headers: { Location: `${base}/simple/${name}/` }, body: "" };
    }
    const isJson = wantsJson(native);
    const want = { kind: "list", form: isJson ? "json" : "html", name, base } as const;
    const answer = await simpleIndex(native, want, deps);
    invariant(answer.kind === "list", "a list was requested");
    const { buffer, byteOffset, byteLength } = answer.bytes;
    const body = Buffer.from(buffer, byteOffset, byteLength);
    return { status: 200, headers: { "Content-Type": isJson ? jsonType : htmlPageType }, body };
  },
};

const download: ProxyCall = {
  path: /^files\/(?<name>[^/]+)\/-\/(?<file>[^/]+)$/,
  operationId: "download-proxied-pypi-file",
  names,
  async handle(native, deps) {
    const { file = "" } = native.params;
    const answer = await simpleIndex(native, { kind: "file", file }, deps);
    if (answer.kind !== "file") throw fileNotFound();
    const promised = promisedBy(answer.hashes);
    const { key } = orNotFound(() => names(native.params));
    const path = `file/${key}/${file}/${promised?.hex ?? ""}`;
    const at = { path, fileName: file, url: answer.url, promised };
    return await upstreamFile(proxyOf(native.repository), at, native.request, deps);
  },
};

function promisedBy(hashes: Readonly<Record<string, string>>): Promised | undefined {
  for (const algorithm of ["sha256", "sha512", "sha1", "md5"] as const) {
    const hex = hashes[algorithm]?.toLowerCase();
    if (hex !== undefined) return { algorithm, hex };
  }
  return undefined;
}

/** What is kept of a project. */
export const pypiKeptPaths = ({ key }: PackageName): readonly string[] => [`simple/${key}`];

export const pypiProxy: readonly ProxyCall[] = [getProject, download];
