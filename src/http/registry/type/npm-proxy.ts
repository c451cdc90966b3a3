import { invariant } from "../../../platform/invariant.ts";
import { Limiter } from "../../../platform/limiter.ts";
import type { PackageName } from "../../../platform/package/coordinates.ts";
import { npmName } from "../../../platform/package/npm.ts";
import type {
  PackumentAnswer,
  PackumentDist,
  PackumentQuestion,
} from "../../../platform/package/packument.ts";
import { readPackument } from "../../../platform/package/packument-reader.ts";
import type { Answer } from "../../core/answer.ts";
import type { Deps } from "../../core/deps.ts";
import { orNotFound, versionNotFound } from "../../package/request.ts";
import { upstreamDocument } from "../proxy/document.ts";
import { documentsFor } from "../proxy/document-room.ts";
import { upstreamFile } from "../proxy/file.ts";
import type { Promised } from "../proxy/flight.ts";
import { findKept } from "../proxy/kept.ts";
import { Places } from "../proxy/places.ts";
import { failed, proxyOf, upstreamUrl } from "../proxy/upstream.ts";
import type { NativeRequest, ProxyCall } from "../type.ts";

const jsonType = "application/json; charset=utf-8";
const shortType = "application/vnd.npm.install-v1+json";
const name = "(?<name>@[^/]+/[^/]+|[^@/-][^/]*)";
const at = (rest: string): RegExp => new RegExp(`^${name}${rest}$`);

/** The documents of the largest packages have some 20 MiB. */
const documentBytesMax = 64 * 1024 ** 2;
/** Documents in memory at one time. */
const turns = new Limiter(16);
/** Requests that have a turn or wait for one, and those of one caller. */
const line = new Places(512, 256);

function names(params: NativeRequest["params"]): PackageName {
  const [first = "", second] = (params["name"] ?? "").split("/");
  return second === undefined ? npmName(undefined, first) : npmName(first, second);
}

/**
 * What the document of a package says; short, it has what an installation needs.
 *
 * @throws Refusal 404, 503 `registry.busy`; HttpRefusal 502
 */
async function asked(
  native: NativeRequest,
  { isShort, want }: Readonly<{ isShort: boolean; want: PackumentQuestion["want"] }>,
  deps: Deps,
): Promise<PackumentAnswer> {
  const proxy = proxyOf(native.repository);
  const { name: told } = orNotFound(() => names(native.params));
  const accept = isShort ? `${shortType}, application/json;q=0.8` : "application/json";
  const url = upstreamUrl(proxy, encodeURIComponent(told).replace(/^%40/, "@"));
  const path = `${isShort ? "short" : "full"}/${told}`;
  const at = { path, url, accept, bytesMax: documentBytesMax };
  const answer = await inTurn(async () => {
    const { bytes } = await upstreamDocument({ proxy, ctx: native.ctx }, at, deps);
    return await readPackument({ bytes, name: told, want });
  });
  documentsFor(native.ctx).set(answer?.kind === "json" ? answer.bytes.length : 0);
  if (answer === undefined || answer.kind === "malformed") {
    throw failed("The external registry answered what is no document of this package.");
  }
  if (answer.kind === "missing") throw versionNotFound();
  return answer;
}

/** @throws Refusal 503 `registry.busy` */
async function inTurn<Result>(run: () => Promise<Result>): Promise<Result> {
  const leave = line.take();
  try {
    return await turns.run(run);
  } finally {
    leave();
  }
}

function jsonOf(answer: PackumentAnswer, type: string): Answer {
  invariant(answer.kind === "json", "a document was asked for");
  const { buffer, byteOffset, byteLength } = answer.bytes;
  const body = Buffer.from(buffer, byteOffset, byteLength);
  return { status: 200, headers: { "Content-Type": type }, body };
}

const getPackument: ProxyCall = {
  path: at(""),
  operationId: "get-proxied-npm-package",
  names,
  async handle(native, deps) {
    const isShort = native.request.header("accept").includes(shortType);
    const want = { kind: "document", base: native.base } as const;
    const answer = await asked(native, { isShort, want }, deps);
    native.ctx.vary("Accept");
    return jsonOf(answer, isShort ? shortType : jsonType);
  },
};

const getManifest: ProxyCall = {
  path: at("/(?<version>[^/-][^/]*)"),
  operationId: "get-proxied-npm-version",
  names,
  async handle(native, deps) {
    const { version = "" } = native.params;
    const want = { kind: "version", base: native.base, version } as const;
    return jsonOf(await asked(native, { isShort: false, want }, deps), jsonType);
  },
};

const getTarball: ProxyCall = {
  path: at("/-/(?<file>[^/]+\\.tgz)"),
  operationId: "download-proxied-npm-tarball",
  names,
  async handle(native, deps) {
    const proxy = proxyOf(native.repository);
    const { file = "" } = native.params;
    // A client that asked for the long document needs no other one.
    const { name: told } = orNotFound(() => names(native.params));
    const long = await findKept(deps.db, { repositoryId: proxy.id, path: `full/${told}` });
    const want = { kind: "dist", file } as const;
    const answer = await asked(native, { isShort: long === undefined, want }, deps);
    invariant(answer.kind === "dist", "a file was asked for");
    const promised = promisedBy(answer.dist);
    const of = { fileName: file, url: answer.dist.tarball, promised };
    const path = `file/${told}/${file}/${promised?.hex ?? ""}`;
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
export const npmKeptPaths = ({ name: told }: PackageName): readonly string[] => [
  `short/${told}`,
  `full/${told}`,
];

export const npmProxy: readonly ProxyCall[] = [getPackument, getTarball, getManifest];
