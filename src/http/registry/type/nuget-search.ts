import { isPrerelease, nugetName } from "../../../platform/package/nuget.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { searchNames } from "../../../projections/package/registry-index.ts";
import { jsonAnswer } from "../../core/answer.ts";
import type { Deps } from "../../core/deps.ts";
import { localSources } from "../source.ts";
import type { NativeCall, NativeRequest } from "../type.ts";
import { type NugetVersion, nugetPackage } from "./nuget-package.ts";
import { needsSemVer2, nuspecId } from "./nuget-registration.ts";

const takeMax = 100;
const takeDefault = 20;
const skipMax = 1_000_000;
const textLengthMax = 200;

const queryText = ({ ctx }: NativeRequest, name: string): string =>
  String(ctx.query[name] ?? "").slice(0, textLengthMax);

function queryNumber(native: NativeRequest, name: string, most: number, usual: number): number {
  const asked = Number.parseInt(queryText(native, name), 10);
  return Number.isNaN(asked) ? usual : Math.min(most, Math.max(0, asked));
}

type Found = Readonly<{ id: string; key: string; versions: readonly NugetVersion[] }>;

/** Listed versions that the request wants to see, in ascending order; undefined when there are none. */
async function wanted(name: string, native: NativeRequest, deps: Deps): Promise<Found | undefined> {
  const ofName = nugetName(name);
  const found = await nugetPackage(ofName, native, deps).catch((error: unknown) => {
    if (error instanceof Refusal && error.kind === "not_found") return undefined;
    throw error;
  });
  const withPrereleases = queryText(native, "prerelease").toLowerCase() === "true";
  const semVer2 = queryText(native, "semVerLevel").startsWith("2");
  const packageType = queryText(native, "packageType").toLowerCase();
  const versions = (found?.versions ?? []).filter(
    (one) =>
      one.isListed &&
      (withPrereleases || !isPrerelease(one.key)) &&
      (semVer2 || !needsSemVer2(one)) &&
      (packageType === "" ||
        one.metadata.packageTypes.some((each) => each.toLowerCase() === packageType)),
  );
  const newest = versions.at(-1);
  if (newest === undefined) return undefined;
  return { id: nuspecId(newest) ?? name, key: ofName.key, versions };
}

async function searched(native: NativeRequest, deps: Deps) {
  const registryIds = (await localSources(native.repository, deps)).map(({ id }) => id);
  // Clients ask for one package so.
  const text = queryText(native, "q")
    .replace(/^packageid:/i, "")
    .trim();
  const limit = queryNumber(native, "take", takeMax, takeDefault);
  const offset = queryNumber(native, "skip", skipMax, 0);
  const { names, total } = await searchNames(deps.db, { registryIds, text, limit, offset });
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
    version: newest.file.version,
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
      version: version.file.version,
      downloads: 0,
    })),
  };
}

const search: NativeCall = {
  method: "GET",
  path: /^query$/,
  right: "read",
  operationId: "search-nuget-packages",
  async handle(native, deps) {
    const { found, total } = await searched(native, deps);
    return jsonAnswer(200, { totalHits: total, data: found.map((each) => result(each, native)) });
  },
};

const autocomplete: NativeCall = {
  method: "GET",
  path: /^autocomplete$/,
  right: "read",
  operationId: "autocomplete-nuget-packages",
  async handle(native, deps) {
    const id = queryText(native, "id");
    if (id !== "") {
      const { versions } = (await wanted(id, native, deps)) ?? { versions: [] };
      return jsonAnswer(200, { data: versions.map(({ file }) => file.version) });
    }
    const { found, total } = await searched(native, deps);
    return jsonAnswer(200, { totalHits: total, data: found.map((each) => each.id) });
  },
};

export const searchCalls: readonly NativeCall[] = [search, autocomplete];
