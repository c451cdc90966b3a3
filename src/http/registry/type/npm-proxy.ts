import { z } from "zod";

import type { PackageName } from "../../../platform/package/coordinates.ts";
import { npmName } from "../../../platform/package/npm.ts";
import { jsonAnswer } from "../../core/answer.ts";
import type { Deps } from "../../core/deps.ts";
import { orNotFound, versionNotFound } from "../../package/request.ts";
import { upstreamDocument } from "../proxy/document.ts";
import { upstreamFile } from "../proxy/file.ts";
import type { Promised } from "../proxy/flight.ts";
import { findKept } from "../proxy/kept.ts";
import { failed, proxyOf, upstreamUrl } from "../proxy/upstream.ts";
import type { NativeRequest, ProxyCall } from "../type.ts";

const shortType = "application/vnd.npm.install-v1+json";
const name = "(?<name>@[^/]+/[^/]+|[^@/-][^/]*)";
const at = (rest: string): RegExp => new RegExp(`^${name}${rest}$`);

const Dist = z.looseObject({
  tarball: z.string(),
  integrity: z.string().optional(),
  shasum: z.string().optional(),
});
type Dist = z.output<typeof Dist>;
const Version = z.looseObject({ dist: Dist });
const Packument = z.looseObject({
  name: z.string(),
  "dist-tags": z.record(z.string(), z.string()).default({}),
  versions: z.record(z.string(), Version).default({}),
});
type Packument = z.output<typeof Packument>;

function names(params: NativeRequest["params"]): PackageName {
  const [first = "", second] = (params["name"] ?? "").split("/");
  return second === undefined ? npmName(undefined, first) : npmName(first, second);
}

/** The document of a package; short, it has what an installation needs. @throws Refusal 404; HttpRefusal 502 */
async function packumentOf(
  native: NativeRequest,
  isShort: boolean,
  deps: Deps,
): Promise<Packument> {
  const proxy = proxyOf(native.repository);
  const { name: told } = orNotFound(() => names(native.params));
  const accept = isShort ? `${shortType}, application/json;q=0.8` : "application/json";
  const url = upstreamUrl(proxy, encodeURIComponent(told).replace(/^%40/, "@"));
  const path = `${isShort ? "short" : "full"}/${told}`;
  const { bytes } = await upstreamDocument(proxy, { path, url, accept }, deps);
  const found = Packument.safeParse(parsed(bytes));
  if (found.success && found.data.name === told) return found.data;
  throw failed("The external registry answered what is no document of this package.");
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}

const fileOf = ({ tarball }: Dist): string =>
  URL.canParse(tarball) ? (new URL(tarball).pathname.split("/").at(-1) ?? "") : "";

/** With the tarball at this service. */
const served = (base: string, told: string, version: z.output<typeof Version>) => ({
  ...version,
  dist: { ...version.dist, tarball: `${base}/${told}/-/${fileOf(version.dist)}` },
});

const getPackument: ProxyCall = {
  path: at(""),
  operationId: "get-proxied-npm-package",
  names,
  async handle(native, deps) {
    const isShort = native.request.header("accept").includes(shortType);
    const document = await packumentOf(native, isShort, deps);
    const versions = Object.fromEntries(
      Object.entries(document.versions).map(([version, manifest]) => [
        version,
        served(native.base, document.name, manifest),
      ]),
    );
    native.ctx.vary("Accept");
    const answer = jsonAnswer(200, { ...document, versions });
    return isShort ? { ...answer, headers: { "Content-Type": shortType } } : answer;
  },
};

const getManifest: ProxyCall = {
  path: at("/(?<version>[^/-][^/]*)"),
  operationId: "get-proxied-npm-version",
  names,
  async handle(native, deps) {
    const document = await packumentOf(native, false, deps);
    const asked = native.params["version"] ?? "";
    const version = document["dist-tags"][asked] ?? asked;
    if (!Object.hasOwn(document.versions, version)) throw versionNotFound();
    const manifest = Version.parse(document.versions[version]);
    return jsonAnswer(200, served(native.base, document.name, manifest));
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
    const document = await packumentOf(native, long === undefined, deps);
    const found = Object.values(document.versions).find(({ dist }) => fileOf(dist) === file);
    if (found === undefined) throw versionNotFound();
    const promised = promisedBy(found.dist);
    const of = { fileName: file, url: found.dist.tarball, promised };
    const path = `file/${document.name}/${file}/${promised?.hex ?? ""}`;
    return await upstreamFile(proxy, { path, ...of }, native.request, deps);
  },
};

/** Subresource Integrity in `integrity`, SHA-1 in the older `shasum`. */
function promisedBy({ integrity = "", shasum = "" }: Dist): Promised | undefined {
  for (const algorithm of ["sha512", "sha256", "sha1"] as const) {
    const [, base64] =
      new RegExp(`(?:^|\\s)${algorithm}-([A-Za-z0-9+/]+={0,2})`).exec(integrity) ?? [];
    if (base64 !== undefined)
      return { algorithm, hex: Buffer.from(base64, "base64").toString("hex") };
  }
  return /^[0-9a-f]{40}$/.test(shasum) ? { algorithm: "sha1", hex: shasum } : undefined;
}

export const npmProxy: readonly ProxyCall[] = [getPackument, getTarball, getManifest];
