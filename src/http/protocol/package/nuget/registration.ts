import { promisify } from "node:util";
import { gzip } from "node:zlib";

import { compareNuget, normalizedNuget } from "../../../../package/nuget/format.ts";
import { needsSemVer2 } from "../../../../package/searched.ts";
import { packageNotFound, versionNotFound } from "../../../api/package/request.ts";
import { type Answer, jsonAnswer } from "../../../core/answer.ts";
import type { Deps } from "../../../core/deps.ts";
import type { NativeCall, NativeRequest } from "../core/type.ts";
import { type NugetPackage, type NugetVersion, packageOf } from "./package.ts";

/** As nuget.org does: pages of so many, within the index while they are few. */
const pageSize = 64;
const inlineMax = 128;
/** An unlisted version is marked by a date at which nothing was published. */
const unlistedDate = "1900-01-01T00:00:00+00:00";

/** Old clients are shown no SemVer 2, and nothing that is compressed. */
const hives = {
  registration: { semVer2: false, compressed: false },
  "registration-gz": { semVer2: false, compressed: true },
  "registration-semver2": { semVer2: true, compressed: true },
} as const;
type Hive = keyof typeof hives;
const hive = "(?<hive>registration|registration-gz|registration-semver2)";

type Shown = Readonly<{ base: string; id: string; versions: readonly NugetVersion[] }>;

async function shownOf(native: NativeRequest, deps: Deps): Promise<Shown> {
  const name = native.params["hive"] as Hive;
  const found: NugetPackage = await packageOf(native, deps);
  const versions = found.versions.filter(
    ({ file: { version }, metadata }) =>
      hives[name].semVer2 || !needsSemVer2({ version, metadata }),
  );
  if (versions.length === 0) throw packageNotFound();
  return { base: `${native.base}/${name}/${found.name.key}`, id: found.name.key, versions };
}

/** The document, or its JSON, in the encoding of the requested registration: plain or compressed. */
export async function registrationAnswer(
  native: NativeRequest,
  document: unknown,
): Promise<Answer> {
  const plain = document instanceof Uint8Array ? written(document) : jsonAnswer(200, document);
  if (!hives[native.params["hive"] as Hive].compressed) return plain;
  const body = await promisify(gzip)(plain.body as string | Buffer);
  return { ...plain, headers: { ...plain.headers, "Content-Encoding": "gzip" }, body };
}

const written = ({ buffer, byteOffset, byteLength }: Uint8Array): Answer => ({
  ...jsonAnswer(200, null),
  body: Buffer.from(buffer, byteOffset, byteLength),
});

const getIndex: NativeCall = {
  method: "GET",
  path: new RegExp(`^${hive}/(?<id>[^/]+)/index\\.json$`),
  right: "read",
  operationId: "get-nuget-registration",
  async handle(native, deps) {
    const shown = await shownOf(native, deps);
    const pages: (readonly NugetVersion[])[] = [];
    for (let at = 0; at < shown.versions.length; at += pageSize) {
      pages.push(shown.versions.slice(at, at + pageSize));
    }
    const isInline = shown.versions.length < inlineMax;
    return registrationAnswer(native, {
      "@id": `${shown.base}/index.json`,
      count: pages.length,
      items: pages.map((versions) => page({ ...shown, versions }, native, isInline)),
    });
  },
};

function page(shown: Shown, native: NativeRequest, withItems: boolean) {
  const { base, versions } = shown;
  const [lower = "", upper = ""] = [versions.at(0)?.key, versions.at(-1)?.key];
  return {
    "@id": `${base}/page/${lower}/${upper}.json`,
    count: versions.length,
    lower,
    upper,
    ...(withItems && {
      parent: `${base}/index.json`,
      items: versions.map((version) => leaf(version, shown, native)),
    }),
  };
}

function leaf(version: NugetVersion, { base, id }: Shown, native: NativeRequest) {
  const { file, key, metadata, isListed } = version;
  const packageContent = `${native.base}/flat/${id}/${key}/${id}.${key}.nupkg`;
  const { license, tags, requireLicenseAcceptance, ...fields } = metadata.fields;
  return {
    "@id": `${base}/${key}.json`,
    packageContent,
    registration: `${base}/index.json`,
    catalogEntry: {
      "@id": `${base}/${key}.json`,
      id: nuspecId(version) ?? id,
      version: normalizedNuget(file.version),
      ...fields,
      ...(license !== undefined && isExpression(version) && { licenseExpression: license }),
      ...(tags !== undefined && { tags: tags.split(/[\s,]+/) }),
      requireLicenseAcceptance: requireLicenseAcceptance === "true",
      listed: isListed,
      published: isListed ? file.version_created_at.toISOString() : unlistedDate,
      packageContent,
      dependencyGroups: metadata.dependencyGroups.map((group) => ({
        ...group,
        dependencies: group.dependencies.map((each) => ({
          ...each,
          registration: `${base.slice(0, -id.length)}${each.id.toLowerCase()}/index.json`,
        })),
      })),
    },
  };
}

/** Else the license is a file in the package. */
const isExpression = ({ metadata }: NugetVersion): boolean =>
  /<license\s[^<>]{0,200}\btype\s{0,10}=\s{0,10}["']expression["']/i.test(metadata.nuspec);

/** As the package itself spells it. */
export const nuspecId = ({ metadata }: NugetVersion): string | undefined =>
  /<id>\s*([^<\s]+)\s*<\/id>/.exec(metadata.nuspec)?.[1];

const getPage: NativeCall = {
  method: "GET",
  path: new RegExp(`^${hive}/(?<id>[^/]+)/page/(?<lower>[^/]+)/(?<upper>[^/]+)\\.json$`),
  right: "read",
  operationId: "get-nuget-registration-page",
  async handle(native, deps) {
    const shown = await shownOf(native, deps);
    const { lower = "", upper = "" } = native.params;
    const isVersion = /^\d[0-9a-z.-]*$/;
    if (!isVersion.test(lower) || !isVersion.test(upper)) throw versionNotFound();
    const versions = shown.versions.filter(
      ({ key }) => compareNuget(key, lower) >= 0 && compareNuget(key, upper) <= 0,
    );
    if (versions.length === 0) throw versionNotFound();
    return registrationAnswer(native, page({ ...shown, versions }, native, true));
  },
};

const getLeaf: NativeCall = {
  method: "GET",
  path: new RegExp(`^${hive}/(?<id>[^/]+)/(?<version>[^/]+)\\.json$`),
  right: "read",
  operationId: "get-nuget-registration-leaf",
  async handle(native, deps) {
    const shown = await shownOf(native, deps);
    const requested = (native.params["version"] ?? "").toLowerCase();
    const version = shown.versions.find(({ key }) => key === requested);
    if (version === undefined) throw versionNotFound();
    const { catalogEntry, ...rest } = leaf(version, shown, native);
    const { listed, published } = catalogEntry;
    return registrationAnswer(native, {
      ...rest,
      listed,
      published,
      catalogEntry: catalogEntry["@id"],
    });
  },
};

export const registrationCalls: readonly NativeCall[] = [getIndex, getPage, getLeaf];
