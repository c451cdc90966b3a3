import { z } from "zod";

import type { PackageName } from "../../../platform/package/coordinates.ts";
import { compareNuget, nugetName, nugetVersion } from "../../../platform/package/nuget.ts";
import { jsonAnswer } from "../../core/answer.ts";
import type { Deps } from "../../core/deps.ts";
import {
  fileNotFound,
  orNotFound,
  packageNotFound,
  versionNotFound,
} from "../../package/request.ts";
import { upstreamDocument } from "../proxy/document.ts";
import { upstreamFile } from "../proxy/file.ts";
import { failed, type ProxyRepository, proxyOf, upstreamUrl } from "../proxy/upstream.ts";
import type { NativeRequest, ProxyCall } from "../type.ts";
import { registrationAnswer } from "./nuget-registration.ts";
import { serviceIndex } from "./nuget-service.ts";

/** Of an address or a version in a document: it is looked at by patterns. */
const textMax = 2_048;

const Resource = z.object({
  "@id": z.string().max(textMax),
  "@type": z.union([z.string(), z.array(z.string())]),
});
const ServiceIndex = z.object({ resources: z.array(z.unknown()).max(1_000) });
const Versions = z.object({ versions: z.array(z.string().max(textMax)) });

const Dependency = z.looseObject({ id: z.string().max(textMax) });
const Group = z.looseObject({ dependencies: z.array(Dependency).nullish() });
const Entry = z.looseObject({
  version: z.string().max(textMax),
  listed: z.boolean().optional(),
  published: z.string().optional(),
  dependencyGroups: z.array(Group).nullish(),
});
const Leaf = z.looseObject({ catalogEntry: Entry });
type Leaf = z.output<typeof Leaf>;
const Page = z.looseObject({
  "@id": z.string().max(textMax),
  count: z.int(),
  lower: z.string().max(textMax),
  upper: z.string().max(textMax),
  items: z.array(Leaf).optional(),
});
type Page = z.output<typeof Page>;
const Index = z.looseObject({ items: z.array(Page) });

const names = (params: NativeRequest["params"]): PackageName => nugetName(params["id"] ?? "");

/** Documents are read where they are, which must not hold up others. */
const bytesMaxDefault = 1024 ** 2;
/** Those of large packages have some hundred versions with all their dependencies. */
const registrationBytesMax = 2 * 1024 ** 2;

type DocumentOrder<Schema> = Readonly<{
  path: string;
  url: string;
  schema: Schema;
  bytesMax?: number;
}>;

async function documentOf<Schema extends z.ZodType>(
  proxy: ProxyRepository,
  { path, url, schema, bytesMax = bytesMaxDefault }: DocumentOrder<Schema>,
  deps: Deps,
): Promise<z.output<Schema>> {
  const at = { path, url, accept: "application/json", bytesMax };
  const { bytes } = await upstreamDocument(proxy, at, deps);
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
async function resourceOf(
  proxy: ProxyRepository,
  types: readonly string[],
  deps: Deps,
): Promise<string> {
  const { url: told } = proxy.settings;
  const url = /\.json$/.test(new URL(told).pathname) ? told : upstreamUrl(proxy, "index.json");
  const { resources } = await documentOf(proxy, { path: "index", url, schema: ServiceIndex }, deps);
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
  async handle({ params, repository }, deps) {
    const proxy = proxyOf(repository);
    const { key } = orNotFound(() => names(params));
    const url = `${await resourceOf(proxy, flatTypes, deps)}${key}/index.json`;
    const at = { path: `versions/${key}`, url, schema: Versions };
    return jsonAnswer(200, { versions: (await documentOf(proxy, at, deps)).versions });
  },
};

const download: ProxyCall = {
  path: /^flat\/(?<id>[^/]+)\/(?<version>[^/]+)\/(?<file>[^/]+)\.(?<kind>nupkg|nuspec)$/,
  operationId: "download-proxied-nuget-file",
  names,
  async handle({ params, repository, request }, deps) {
    const proxy = proxyOf(repository);
    const { file = "", version = "", kind = "" } = params;
    const { key: id } = orNotFound(() => names(params));
    const { key } = orNotFound(() => nugetVersion(version));
    const expected = kind === "nuspec" ? id : `${id}.${key}`;
    if (file.toLowerCase() !== expected) throw fileNotFound();
    const fileName = `${expected}.${kind}`;
    const url = `${await resourceOf(proxy, flatTypes, deps)}${id}/${key}/${fileName}`;
    // The indexes promise no sum; clients check the signatures in the packages.
    const of = { path: `file/${id}/${key}/${fileName}`, fileName, url, promised: undefined };
    return await upstreamFile(proxy, of, request, deps);
  },
};

/** The registration of a package at the external registry, its pages with the versions in them or without. */
async function pagesOf(native: NativeRequest, deps: Deps): Promise<readonly Page[]> {
  const proxy = proxyOf(native.repository);
  const { hive: asked = "" } = native.params;
  const { key } = orNotFound(() => names(native.params));
  const url = `${await resourceOf(proxy, hives[asked] ?? [], deps)}${key}/index.json`;
  const at = { path: `${asked}/${key}`, url, schema: Index, bytesMax: registrationBytesMax };
  return (await documentOf(proxy, at, deps)).items.filter(isWritable);
}

/** Whether its bounds can stand in a path of ours. */
const isWritable = ({ lower, upper }: Page): boolean =>
  [lower, upper].every((version) => /^\d[0-9A-Za-z.+-]{0,127}$/.test(version));

async function leavesOf(page: Page, native: NativeRequest, deps: Deps): Promise<readonly Leaf[]> {
  if (page.items !== undefined) return page.items;
  const proxy = proxyOf(native.repository);
  const { hive: asked = "" } = native.params;
  const { key } = orNotFound(() => names(native.params));
  const path = `${asked}/${key}/${page.lower}/${page.upper}`;
  const at = { path, url: page["@id"], schema: Page, bytesMax: registrationBytesMax };
  const found = await documentOf(proxy, at, deps);
  return found.items ?? [];
}

type Place = Readonly<{ native: NativeRequest; key: string; at: string }>;

function placeOf(native: NativeRequest): Place {
  const { key } = orNotFound(() => names(native.params));
  return { native, key, at: `${native.base}/${native.params["hive"]}/${key}` };
}

function shownPage(page: Page, leaves: readonly Leaf[] | undefined, { native, key, at }: Place) {
  const { lower, upper } = page;
  const place = { native, key, at };
  return {
    "@id": `${at}/page/${lower}/${upper}.json`,
    count: page.count,
    lower,
    upper,
    parent: `${at}/index.json`,
    ...(leaves !== undefined && { items: leaves.map((leaf) => shownLeaf(leaf, place)) }),
  };
}

/** As the external registry says it, with every address at this service. */
function shownLeaf({ catalogEntry }: Leaf, { native, key, at }: Place) {
  const version = versionKey(catalogEntry.version);
  const packageContent = `${native.base}/flat/${key}/${version}/${key}.${version}.nupkg`;
  const groups = catalogEntry.dependencyGroups?.map((group) => ({
    ...group,
    dependencies: group.dependencies?.map((each) => ({
      ...each,
      registration: `${at.slice(0, -key.length)}${each.id.toLowerCase()}/index.json`,
    })),
  }));
  const shown = { ...catalogEntry, "@id": `${at}/${version}.json`, packageContent };
  return {
    "@id": `${at}/${version}.json`,
    packageContent,
    registration: `${at}/index.json`,
    catalogEntry: { ...shown, ...(groups !== undefined && { dependencyGroups: groups }) },
  };
}

function versionKey(version: string): string {
  try {
    return nugetVersion(version).key;
  } catch {
    throw failed("The external registry tells of a version that is none of NuGet.");
  }
}

const getRegistration: ProxyCall = {
  path: new RegExp(`^${hive}/(?<id>[^/]+)/index\\.json$`),
  operationId: "get-proxied-nuget-registration",
  names,
  async handle(native, deps) {
    const pages = await pagesOf(native, deps);
    const place = placeOf(native);
    const items = pages.map((page) => shownPage(page, page.items, place));
    return registrationAnswer(native, {
      "@id": `${place.at}/index.json`,
      count: items.length,
      items,
    });
  },
};

const getPage: ProxyCall = {
  path: new RegExp(`^${hive}/(?<id>[^/]+)/page/(?<lower>[^/]+)/(?<upper>[^/]+)\\.json$`),
  operationId: "get-proxied-nuget-registration-page",
  names,
  async handle(native, deps) {
    const { lower, upper } = native.params;
    const pages = await pagesOf(native, deps);
    const page = pages.find((each) => each.lower === lower && each.upper === upper);
    if (page === undefined) throw versionNotFound();
    const leaves = await leavesOf(page, native, deps);
    return registrationAnswer(native, shownPage(page, leaves, placeOf(native)));
  },
};

const getLeaf: ProxyCall = {
  path: new RegExp(`^${hive}/(?<id>[^/]+)/(?<version>[^/]+)\\.json$`),
  operationId: "get-proxied-nuget-registration-leaf",
  names,
  async handle(native, deps) {
    const { key } = orNotFound(() => nugetVersion(native.params["version"] ?? ""));
    const within = (page: Page) =>
      compareNuget(key, versionKey(page.lower)) >= 0 &&
      compareNuget(key, versionKey(page.upper)) <= 0;
    const page = (await pagesOf(native, deps)).find(within);
    const leaves = page === undefined ? [] : await leavesOf(page, native, deps);
    const leaf = leaves.find(({ catalogEntry }) => versionKey(catalogEntry.version) === key);
    if (leaf === undefined) throw versionNotFound();
    const { catalogEntry, ...rest } = shownLeaf(leaf, placeOf(native));
    const { listed, published } = catalogEntry;
    const shown = { ...rest, listed, published, catalogEntry: catalogEntry["@id"] };
    return registrationAnswer(native, shown);
  },
};

export const nugetProxy: readonly ProxyCall[] = [
  ...[getServiceIndex, listVersions, download],
  ...[getRegistration, getPage, getLeaf],
];
