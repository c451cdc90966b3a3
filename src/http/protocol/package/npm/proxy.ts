import type { PackageName } from "../../../../package/core/coordinates.ts";
import type {
  PackumentAnswer,
  PackumentDist,
  PackumentQuestion,
} from "../../../../package/npm/packument.ts";
import { readPackument } from "../../../../package/npm/packument-reader.ts";
import { invariant } from "../../../../platform/invariant.ts";
import { Limit } from "../../../../platform/limit.ts";
import { orNotFound, versionNotFound } from "../../../api/package/request.ts";
import type { Answer } from "../../../core/answer.ts";
import type { Deps } from "../../../core/deps.ts";
import type { NativeRequest, ProxyCall } from "../core/type.ts";
import { cachedDigest, upstreamDocument } from "../proxy/document.ts";
import { documentsFor } from "../proxy/document-budget.ts";
import { upstreamFile } from "../proxy/file.ts";
import type { Promised } from "../proxy/shared-download.ts";
import { failed, proxyOf, upstreamUrl } from "../proxy/upstream.ts";
import { upstreamBusy } from "../proxy/upstream-busy.ts";
import { type Given, GivenCache } from "./given.ts";
import { at, jsonType, nameIn, shortType } from "./path.ts";

/** The documents of the largest packages have some 20 MiB. */
const documentBytesMax = 64 * 1024 ** 2;
/** Documents in memory at one time. */
const turns = new Limit({
  name: "registry.npm_documents",
  total: 16,
  whenFull: "wait",
  waitersMax: 496,
  waitersShare: 248,
  refusal: upstreamBusy,
});

type PackumentRequest = Readonly<{
  /** Undefined for whichever is kept. */
  isShort: boolean | undefined;
  want: PackumentQuestion["want"];
}>;

const given = new GivenCache(16 * 1024 ** 2);

/**
 * What the document of a package says; short, it has what an installation needs.
 *
 * @throws Refusal 404, 503 `registry.busy`; HttpRefusal 502
 */
async function packument(native: NativeRequest, of: PackumentRequest, deps: Deps): Promise<Given> {
  const proxy = proxyOf(native.repository);
  const { name } = orNotFound(() => nameIn(native.params));
  const forms = of.isShort === undefined ? ["full", "short"] : [of.isShort ? "short" : "full"];
  const cached = await cachedDigest(
    proxy,
    forms.map((form) => `${form}/${name}`),
    deps,
  );
  const keyOf = (sha256: string): string => JSON.stringify([sha256, name, of.want]);
  const known = cached?.sha256 === undefined ? undefined : given.get(keyOf(cached.sha256));
  if (known !== undefined) return known;
  const path = cached?.path ?? `${of.isShort === false ? "full" : "short"}/${name}`;
  const { answer, sha256 } = await readDocument(native, { path, name, want: of.want }, deps);
  if (sha256 !== undefined) given.set(keyOf(sha256), answer);
  return answer;
}

type Reading = Readonly<{ path: string; name: string; want: PackumentQuestion["want"] }>;

async function readDocument(native: NativeRequest, { path, name, want }: Reading, deps: Deps) {
  const proxy = proxyOf(native.repository);
  const isShort = path.startsWith("short/");
  const accept = isShort ? `${shortType}, application/json;q=0.8` : "application/json";
  const url = upstreamUrl(proxy, encodeURIComponent(name).replace(/^%40/, "@"));
  const at = { path, url, accept, bytesMax: documentBytesMax };
  const { answer, sha256 } = await turns.run(async () => {
    const document = await upstreamDocument({ proxy, ctx: native.ctx }, at, deps);
    const { bytes, sha256 } = document;
    return { sha256, answer: await readPackument({ bytes, name: name, want }) };
  });
  documentsFor(native.ctx).set(answer?.kind === "json" ? answer.bytes.length : 0);
  if (answer === undefined || answer.kind === "malformed") {
    throw failed("The external registry answered what is no document of this package.");
  }
  if (answer.kind === "missing") throw versionNotFound();
  return { answer, sha256 };
}

function jsonOf(answer: PackumentAnswer, type: string): Answer {
  invariant(answer.kind === "json", "a document was requested");
  const { buffer, byteOffset, byteLength } = answer.bytes;
  const body = Buffer.from(buffer, byteOffset, byteLength);
  return { status: 200, headers: { "Content-Type": type }, body };
}

const getPackument: ProxyCall = {
  path: at(""),
  operationId: "get-proxied-npm-package",
  names: nameIn,
  async handle(native, deps) {
    const isShort = native.request.header("accept").includes(shortType);
    const want = { kind: "document", base: native.base } as const;
    const answer = await packument(native, { isShort, want }, deps);
    native.ctx.vary("Accept");
    return jsonOf(answer, isShort ? shortType : jsonType);
  },
};

const getManifest: ProxyCall = {
  path: at("/(?<version>[^/-][^/]*)"),
  operationId: "get-proxied-npm-version",
  names: nameIn,
  async handle(native, deps) {
    const { version = "" } = native.params;
    const want = { kind: "version", base: native.base, version } as const;
    return jsonOf(await packument(native, { isShort: false, want }, deps), jsonType);
  },
};

const getTarball: ProxyCall = {
  path: at("/-/(?<file>[^/]+\\.tgz)"),
  operationId: "download-proxied-npm-tarball",
  names: nameIn,
  async handle(native, deps) {
    const proxy = proxyOf(native.repository);
    const { file = "" } = native.params;
    // The long document serves as well as the short one: whichever is kept is used.
    const { name } = orNotFound(() => nameIn(native.params));
    const want = { kind: "dist", file } as const;
    const answer = await packument(native, { isShort: undefined, want }, deps);
    invariant(answer.kind === "dist", "a file was requested");
    const promised = promisedBy(answer.dist);
    const of = { fileName: file, url: answer.dist.tarball, promised };
    const path = `file/${name}/${file}/${promised?.hex ?? ""}`;
    return await upstreamFile(proxy, { path, ...of }, native.request, deps);
  },
};

/** Subresource Integrity in `integrity`, SHA-1 in the older `shasum`. */
function promisedBy({ integrity = "", shasum = "" }: PackumentDist): Promised | undefined {
  for (const algorithm of ["sha512", "sha256", "sha1"] as const) {
    const [, base64] =
      new RegExp(`(?:^|\\s)${algorithm}-([A-Za-z0-9+/]+={0,2})`).exec(integrity) ?? [];
    if (base64 !== undefined)
      return { algorithm, hex: Buffer.from(base64, "base64").toString("hex") };
  }
  return /^[0-9a-f]{40}$/.test(shasum) ? { algorithm: "sha1", hex: shasum } : undefined;
}

/** What is kept of a package. */
export const npmKeptPaths = ({ name }: PackageName): readonly string[] => [
  `short/${name}`,
  `full/${name}`,
];

export const npmProxy: readonly ProxyCall[] = [getPackument, getTarball, getManifest];
