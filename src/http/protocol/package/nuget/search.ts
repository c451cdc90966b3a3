import type { PackageId } from "../../../../events/core/ids.ts";
import { packageIdOf } from "../../../../package/core/coordinates.ts";
import { normalizedNuget, nugetName } from "../../../../package/nuget/format.ts";
import { prereleaseTrait, semVer2Trait, typeTrait } from "../../../../package/searched.ts";
import { Refusal } from "../../../../platform/refusal.ts";
import { packagesWithIds } from "../../../../projections/package/registry.ts";
import { searchPackages, wordsIn } from "../../../../projections/package/registry-index.ts";
import { orNotFound, packageNotFound } from "../../../api/package/request.ts";
import { jsonAnswer } from "../../../core/answer.ts";
import type { Deps } from "../../../core/deps.ts";
import { localSources, packageIdsIn, proxySources } from "../core/source.ts";
import type { NativeCall, NativeRequest, ProxyCall } from "../core/type.ts";
import type { DocumentContext } from "../proxy/document.ts";
import { proxyOf } from "../proxy/upstream.ts";
import { type NugetVersion, nugetPackage, type } from "./package.ts";
import { nuspecId } from "./registration.ts";
import { completeUpstream, type FoundPage, type Query, searchUpstream } from "./upstream-search.ts";

const takeMax = 100;
const takeDefault = 20;
const skipMax = 1_000_000;
const textLengthMax = 200;

const queryText = ({ ctx }: NativeRequest, name: string): string =>
  String(ctx.query[name] ?? "").slice(0, textLengthMax);

function queryNumber(native: NativeRequest, name: string, most: number, usual: number): number {
  const value = Number.parseInt(queryText(native, name), 10);
  return Number.isNaN(value) ? usual : Math.min(most, Math.max(0, value));
}

/** What a version has to have, and what it may not have, to be found. */
function traitsOf(native: NativeRequest) {
  const packageType = queryText(native, "packageType");
  const takesPrereleases = queryText(native, "prerelease").toLowerCase() === "true";
  const takesSemVer2 = queryText(native, "semVerLevel").startsWith("2");
  return {
    traits: packageType === "" ? [] : [typeTrait(packageType)],
    withoutTraits: [
      ...(takesPrereleases ? [] : [prereleaseTrait]),
      ...(takesSemVer2 ? [] : [semVer2Trait]),
    ],
  };
}

type Found = Readonly<{ id: string; key: string; versions: readonly NugetVersion[] }>;

/** Listed versions that the request wants to see, in ascending order; undefined when there are none. */
async function wanted(name: string, native: NativeRequest, deps: Deps): Promise<Found | undefined> {
  const ofName = nugetName(name);
  const found = await nugetPackage(ofName, native, deps).catch((error: unknown) => {
    if (error instanceof Refusal && error.kind === "not_found") return undefined;
    throw error;
  });
  const { traits, withoutTraits } = traitsOf(native);
  const versions = (found?.versions ?? []).filter(({ isListed, file }) => {
    const has = (trait: string) => file.traits?.includes(` ${trait} `) === true;
    return isListed && traits.every(has) && !withoutTraits.some(has);
  });
  const newest = versions.at(-1);
  if (newest === undefined) return undefined;
  return { id: nuspecId(newest) ?? name, key: ofName.key, versions };
}

/** @param inNames a client completes what a person begins to write of a name */
async function searched(native: NativeRequest, inNames: boolean, deps: Deps) {
  const registryIds = (await localSources(native.repository, deps)).map(({ id }) => id);
  const text = queryText(native, "q").trim();
  // Clients request one package in this form.
  const name = /^packageid:(.+)$/i.exec(text)?.[1]?.trim();
  const { traits, withoutTraits } = traitsOf(native);
  const { names, total } = await searchPackages(deps.db, {
    ...{ registryIds, name, inNames, traits, withoutTraits },
    words: name === undefined ? wordsIn(text) : [],
    limit: queryNumber(native, "take", takeMax, takeDefault),
    offset: queryNumber(native, "skip", skipMax, 0),
  });
  const found = await Promise.all(names.map((name) => wanted(name, native, deps)));
  return { found: found.filter((each) => each !== undefined), total };
}

function result({ id, key, versions }: Found, { base }: NativeRequest) {
  const newest = versions.at(-1) as NugetVersion;
  const { authors = "", tags = "", description = "", ...rest } = newest.metadata.fields;
  const { title = id, summary = "", projectUrl, licenseUrl, iconUrl } = rest;
  const registration = `${base}/registration-semver2/${key}`;
  return {
    "@id": `${registration}/index.json`,
    "@type": "Package",
    registration: `${registration}/index.json`,
    id,
    version: normalizedNuget(newest.file.version),
    title,
    description,
    summary,
    authors: authors.split(",").map((each) => each.trim()),
    tags: tags.split(/[\s,]+/).filter((tag) => tag !== ""),
    ...(projectUrl !== undefined && { projectUrl }),
    ...(licenseUrl !== undefined && { licenseUrl }),
    ...(iconUrl !== undefined && { iconUrl }),
    packageTypes: newest.metadata.packageTypes.map((name) => ({ name })),
    totalDownloads: 0,
    verified: false,
    versions: versions.map((version) => ({
      "@id": `${registration}/${version.key}.json`,
      version: normalizedNuget(version.file.version),
      downloads: 0,
    })),
  };
}

/** The query to external registries, with the parameters of the request. */
function queryFor(native: NativeRequest, part: Readonly<{ skip: number; take: number }>): Query {
  const given = ["q", "id", "prerelease", "semVerLevel", "packageType"]
    .map((name) => [name, queryText(native, name)] as const)
    .filter(([, value]) => value !== "");
  return { ...Object.fromEntries(given), skip: String(part.skip), take: String(part.take) };
}

type QueryUpstream = (context: DocumentContext, query: Query) => Promise<FoundPage>;

/**
 * What local members have, and behind it what the proxies find, as one list. A name that a local member has is not
 * taken from a proxy; of a virtual repository, a proxy that fails finds nothing.
 */
async function withUpstream(
  native: NativeRequest,
  own: FoundPage,
  { queryUpstream, isOfNames }: Readonly<{ queryUpstream: QueryUpstream; isOfNames: boolean }>,
  deps: Deps,
): Promise<FoundPage> {
  const take = queryNumber(native, "take", takeMax, takeDefault);
  const skip = queryNumber(native, "skip", skipMax, 0);
  const found = new Map(own.items);
  let { total } = own;
  for (const row of await proxySources(native.repository, deps)) {
    const proxy = proxyOf(row);
    // It cannot say which names are its own.
    if (proxy.settings.isOffline) break;
    const part = { skip: Math.max(0, skip - total), take: Math.max(0, take - found.size) };
    const context = { ctx: native.ctx, proxy };
    const page = await queryUpstream(context, queryFor(native, part)).catch((error: unknown) => {
      if (native.repository.settings.type === "PROXY") throw error;
      return { total: 0, items: [] };
    });
    total += page.total;
    // An external registry may send far more than was requested, and names of local members among it.
    const items = part.take === 0 ? [] : page.items.slice(0, takeMax);
    const claimed = isOfNames ? await claimedOf(native, items, deps) : new Set<string>();
    const others = items.filter(([key]) => !claimed.has(key) && !found.has(key));
    for (const [key, value] of others.slice(0, part.take)) found.set(key, value);
  }
  return { total, items: [...found] };
}

/** Which of the names that a proxy finds local members have. */
async function claimedOf(
  { repository }: NativeRequest,
  items: FoundPage["items"],
  deps: Deps,
): Promise<ReadonlySet<string>> {
  if (items.length === 0) return new Set();
  const sources = await localSources(repository, deps);
  const keyOfId = new Map(
    sources.flatMap(({ id }) =>
      items.map(([key]) => [packageIdOf(id, type, nugetName(key)), key] as const),
    ),
  );
  const existing = await packagesWithIds(deps.db, [...keyOfId.keys()]);
  return new Set([...existing.keys()].map((id) => keyOfId.get(id as PackageId) ?? ""));
}

const search: NativeCall = {
  method: "GET",
  path: /^query$/,
  right: "read",
  operationId: "search-nuget-packages",
  async handle(native, deps) {
    const { found, total } = await searched(native, false, deps);
    const own = { total, items: found.map((each) => [each.key, result(each, native)] as const) };
    const queryUpstream: QueryUpstream = (context, query) =>
      searchUpstream(context, { query, base: native.base }, deps);
    const all = await withUpstream(native, own, { queryUpstream, isOfNames: true }, deps);
    return jsonAnswer(200, { totalHits: all.total, data: all.items.map(([, value]) => value) });
  },
};

const autocomplete: NativeCall = {
  method: "GET",
  path: /^autocomplete$/,
  right: "read",
  operationId: "autocomplete-nuget-packages",
  async handle(native, deps) {
    const id = queryText(native, "id");
    const queryUpstream: QueryUpstream = (context, query) => completeUpstream(context, query, deps);
    if (id === "") {
      const { found, total } = await searched(native, true, deps);
      const own = { total, items: found.map((each) => [each.key, each.id] as const) };
      const all = await withUpstream(native, own, { queryUpstream, isOfNames: true }, deps);
      return jsonAnswer(200, { totalHits: all.total, data: all.items.map(([, value]) => value) });
    }
    const name = orNotFound(() => nugetName(id));
    const isOwn = (await packageIdsIn(native.repository, { type, name }, deps)).length > 0;
    if (isOwn) {
      const { versions } = (await wanted(id, native, deps)) ?? { versions: [] };
      return jsonAnswer(200, { data: versions.map(({ file }) => normalizedNuget(file.version)) });
    }
    const none = { total: 0, items: [] };
    const { items } = await withUpstream(native, none, { queryUpstream, isOfNames: false }, deps);
    return jsonAnswer(200, { data: items.map(([, value]) => value) });
  },
};

export const searchCalls: readonly NativeCall[] = [search, autocomplete];

/** A proxy has no packages of its own: the same calls query the external registry alone. */
export const proxiedSearchCalls: readonly ProxyCall[] = searchCalls.map((call) => ({
  ...call,
  operationId: `proxied-${call.operationId}`,
  names: () => {
    throw packageNotFound();
  },
}));
