import { z } from "zod";
import type { PackageName } from "../../../../package/core/coordinates.ts";
import { nugetName, nugetVersion } from "../../../../package/nuget/format.ts";
import type { RegistrationQuestion } from "../../../../package/nuget/registration.ts";
import { readRegistration } from "../../../../package/nuget/registration-reader.ts";
import { outsideList } from "../../../../platform/outside-list.ts";
import {
  fileNotFound,
  orNotFound,
  packageNotFound,
  versionNotFound,
} from "../../../api/package/request.ts";
import { type Answer, jsonAnswer } from "../../../core/answer.ts";
import type { Deps } from "../../../core/deps.ts";
import type { NativeRequest, ProxyCall } from "../core/type.ts";
import { type DocumentContext, upstreamDocument } from "../proxy/document.ts";
import { documentsFor } from "../proxy/document-budget.ts";
import { upstreamFile } from "../proxy/file.ts";
import { failed, proxyOf, upstreamUrl } from "../proxy/upstream.ts";
import { registrationAnswer } from "./registration.ts";
import { serviceIndex } from "./service.ts";

/** Of an address or a version in a document: patterns are matched against it. */
const textMax = 2_048;

const Resource = z.object({
  "@id": z.string().max(textMax),
  "@type": z.union([z.string(), outsideList(z.string())]),
});
const ServiceIndex = z.object({ resources: z.array(z.unknown()).max(1_000) });
const Versions = z.object({ versions: outsideList(z.string().max(textMax)) });

const names = (params: NativeRequest["params"]): PackageName => nugetName(params["id"] ?? "");

/** Lists are read where they are, which must not hold up others. */
const listBytesMax = 1024 ** 2;
/** Those of large packages have some hundred versions with all their dependencies. */
const registrationBytesMax = 2 * 1024 ** 2;

type DocumentOrder<Schema> = Readonly<{
  path: string;
  url: string;
  schema: Schema;
  /** See DocumentAt. */
  isPassing?: boolean;
}>;

/** @throws Refusal 404, 503 `registry.busy`; HttpRefusal 502 */
export async function documentOf<Schema extends z.ZodType>(
  context: DocumentContext,
  { schema, ...of }: DocumentOrder<Schema>,
  deps: Deps,
): Promise<z.output<Schema>> {
  const at = { ...of, accept: "application/json", bytesMax: listBytesMax };
  const { bytes } = await upstreamDocument(context, at, deps);
  try {
    return schema.parse(JSON.parse(bytes.toString()));
  } catch {
    throw failed("The external registry answered what is no document of NuGet.");
  }
}

/**
 * Where the first of these resources is, with a slash at its end. The URL of the proxy is the service index, or what
 * is before `/index.json`.
 *
 * @throws HttpRefusal 502
 */
export async function resourceOf(
  context: DocumentContext,
  types: readonly string[],
  deps: Deps,
): Promise<string> {
  const { url: settingUrl } = context.proxy.settings;
  const url = /\.json$/.test(new URL(settingUrl).pathname)
    ? settingUrl
    : upstreamUrl(context.proxy, "index.json");
  const { resources } = await documentOf(
    context,
    { path: "index", url, schema: ServiceIndex },
    deps,
  );
  const known = resources.flatMap((each) => Resource.safeParse(each).data ?? []);
  for (const type of types) {
    const found = known.find((each) => [each["@type"]].flat().includes(type));
    if (found !== undefined && URL.canParse(found["@id"], url)) {
      const { href } = new URL(found["@id"], url);
      return href.endsWith("/") ? href : `${href}/`;
    }
  }
  throw failed("The external registry does not say where its packages are.");
}

const flatTypes = ["PackageBaseAddress/3.0.0"];
/** The best that the external registry has for each of ours. */
const hives: Readonly<Record<string, readonly string[]>> = {
  registration: [
    "RegistrationsBaseUrl/3.0.0-beta",
    "RegistrationsBaseUrl",
    "RegistrationsBaseUrl/3.4.0",
  ],
  "registration-gz": ["RegistrationsBaseUrl/3.4.0", "RegistrationsBaseUrl"],
  "registration-semver2": [
    ...["RegistrationsBaseUrl/3.6.0", "RegistrationsBaseUrl/Versioned"],
    ...["RegistrationsBaseUrl/3.4.0", "RegistrationsBaseUrl/3.0.0-beta", "RegistrationsBaseUrl"],
  ],
};
const hive = "(?<hive>registration|registration-gz|registration-semver2)";

const getServiceIndex: ProxyCall = {
  path: /^(?:v3\/)?index\.json$/,
  operationId: "get-proxied-nuget-service-index",
  names: () => {
    throw packageNotFound();
  },
  handle: async ({ base }) => jsonAnswer(200, serviceIndex(base, "proxy")),
};

const listVersions: ProxyCall = {
  path: /^flat\/(?<id>[^/]+)\/index\.json$/,
  operationId: "list-proxied-nuget-versions",
  names,
  async handle({ ctx, params, repository }, deps) {
    const context = { ctx, proxy: proxyOf(repository) };
    const { key } = orNotFound(() => names(params));
    const url = `${await resourceOf(context, flatTypes, deps)}${key}/index.json`;
    const at = { path: `versions/${key}`, url, schema: Versions };
    return jsonAnswer(200, { versions: (await documentOf(context, at, deps)).versions });
  },
};

const download: ProxyCall = {
  path: /^flat\/(?<id>[^/]+)\/(?<version>[^/]+)\/(?<file>[^/]+)\.(?<kind>nupkg|nuspec)$/,
  operationId: "download-proxied-nuget-file",
  names,
  async handle({ ctx, params, repository, request }, deps) {
    const proxy = proxyOf(repository);
    const { file = "", version = "", kind = "" } = params;
    const { key: id } = orNotFound(() => names(params));
    const { key } = orNotFound(() => nugetVersion(version));
    const expected = kind === "nuspec" ? id : `${id}.${key}`;
    if (file.toLowerCase() !== expected) throw fileNotFound();
    const fileName = `${expected}.${kind}`;
    const url = `${await resourceOf({ ctx, proxy }, flatTypes, deps)}${id}/${key}/${fileName}`;
    // The indexes promise no sum; clients check the signatures in the packages.
    const of = { path: `file/${id}/${key}/${fileName}`, fileName, url, promised: undefined };
    return await upstreamFile(proxy, of, request, deps);
  },
};

/**
 * What the registration of a package at the external registry contains: its index, and the page that the index
 * names for the requested version where it does not have that itself.
 *
 * @throws Refusal 404, 503 `registry.busy`; HttpRefusal 502
 */
async function registration(
  native: NativeRequest,
  want: RegistrationQuestion["want"],
  deps: Deps,
): Promise<Answer> {
  const from = { ctx: native.ctx, proxy: proxyOf(native.repository) };
  const { hive = "" } = native.params;
  const { key } = orNotFound(() => names(native.params));
  const read = async (of: RegistrationQuestion["of"], url: string) => {
    const page = of === "index" ? "" : `/${of.lower}/${of.upper}`;
    const at = { path: `${hive}/${key}${page}`, url, accept: "application/json" };
    const bounded = { ...at, bytesMax: registrationBytesMax };
    const { bytes } = await upstreamDocument(from, bounded, deps);
    return await readRegistration({ bytes, of, key, base: native.base, hive, want });
  };
  const url = `${await resourceOf(from, hives[hive] ?? [], deps)}${key}/index.json`;
  const index = await read("index", url);
  const answer = index?.kind === "elsewhere" ? await read(index.page, index.page.url) : index;
  documentsFor(native.ctx).set(answer?.kind === "json" ? answer.bytes.length : 0);
  if (answer?.kind === "missing") throw versionNotFound();
  if (answer?.kind === "json") return await registrationAnswer(native, answer.bytes);
  throw failed("The external registry answered what is no registration of NuGet, or a large one.");
}

const getRegistration: ProxyCall = {
  path: new RegExp(`^${hive}/(?<id>[^/]+)/index\\.json$`),
  operationId: "get-proxied-nuget-registration",
  names,
  handle: async (native, deps) => await registration(native, { kind: "index" }, deps),
};

const getPage: ProxyCall = {
  path: new RegExp(`^${hive}/(?<id>[^/]+)/page/(?<lower>[^/]+)/(?<upper>[^/]+)\\.json$`),
  operationId: "get-proxied-nuget-registration-page",
  names,
  async handle(native, deps) {
    const { lower = "", upper = "" } = native.params;
    return await registration(native, { kind: "page", lower, upper }, deps);
  },
};

const getLeaf: ProxyCall = {
  path: new RegExp(`^${hive}/(?<id>[^/]+)/(?<version>[^/]+)\\.json$`),
  operationId: "get-proxied-nuget-registration-leaf",
  names,
  async handle(native, deps) {
    const { key: version } = orNotFound(() => nugetVersion(native.params["version"] ?? ""));
    return await registration(native, { kind: "leaf", version }, deps);
  },
};

/** What is kept of a package. */
export const nugetKeptPaths = ({ key }: PackageName): readonly string[] =>
  ["versions", ...Object.keys(hives)].map((place) => `${place}/${key}`);

export const nugetProxy: readonly ProxyCall[] = [
  ...[getServiceIndex, listVersions, download],
  ...[getRegistration, getPage, getLeaf],
];
