import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { z } from "zod";

import { parseYaml } from "../../platform/bounded-yaml.ts";
import { outsideList } from "../../platform/outside-list.ts";
import {
  badFile,
  badName,
  badVersion,
  type PackageFileName,
  type PackageName,
  type PackageVersionName,
} from "../core/coordinates.ts";
import { manifestText } from "../core/manifest-text.ts";
import { inflated } from "../core/small-archive.ts";
import { walkTar } from "../core/tar-walk.ts";

/** With a letter in it. */
const nameForm = /^(?:\d[\d._-]*)?[A-Za-z][A-Za-z0-9._-]*$/;
const nameLengthMax = 200;
const isGemName = (text: string): boolean => text.length <= nameLengthMax && nameForm.test(text);
const numberForm = /^\d+(?:\.[0-9A-Za-z]+)*$/;
/** It begins with no digit, so that it differs from a version. */
const platformForm = /^[A-Za-z][A-Za-z0-9._-]{0,99}$/;
const lengthMax = 100;
const packedMax = 4 * 1024 ** 2;
const specificationMax = 1024 ** 2;
const entriesMax = 100;
const textMax = 16_000;

/** Names are compared without case. @throws Refusal 422 */
export function gemName(name: string): PackageName {
  if (!isGemName(name)) {
    throw badName("A gem's name is letters, digits and ._-, with a letter in it.");
  }
  return { name, groupId: "", artifactId: name, key: name.toLowerCase() };
}

/** A version for a platform: `1.0`, `1.0-x86_64-linux`. @throws Refusal 422 */
export function gemVersion(number: string, platform = "ruby"): PackageVersionName {
  if (!numberForm.test(number) || number.length > lengthMax) {
    throw badVersion("This is not a version as RubyGems writes them.");
  }
  if (!platformForm.test(platform)) throw badVersion("This is not a platform of Ruby.");
  const version = platform === "ruby" ? number : `${number}-${platform}`;
  return { version, key: version };
}

export const gemFileName = ({ name }: PackageName, { version }: PackageVersionName): string =>
  `${name}-${version}.gem`;

type Coordinates = Readonly<{ packageName: PackageName; version: PackageVersionName }>;

/** All that the full name of a gem can mean: names and platforms have dashes too. */
export function gemsNamed(full: string): readonly Coordinates[] {
  if (full.length > nameLengthMax + 2 * lengthMax + 2) return [];
  return [...full.matchAll(/-(?=\d)/g)].flatMap(({ index }) => {
    const [, number = "", platform] =
      /^(\d+(?:\.[0-9A-Za-z]+)*)(?:-(.+))?$/.exec(full.slice(index + 1)) ?? [];
    const name = full.slice(0, index);
    const fits =
      isGemName(name) &&
      numberForm.test(number) &&
      (platform === undefined || platformForm.test(platform));
    if (!fits) return [];
    return [{ packageName: gemName(name), version: gemVersion(number, platform) }];
  });
}

export const isGemPrerelease = (number: string): boolean => /[A-Za-z]/.test(number);

/** Gem::Version: numbers by value, a letter before any number, `1.0` as `1`. */
export function compareGem(a: string, b: string): number {
  const parts = (version: string) => version.match(/\d+|[A-Za-z]+/g) ?? [];
  const [one, other] = [parts(a), parts(b)];
  for (let at = 0; at < Math.max(one.length, other.length); at += 1) {
    const [left, right] = [one[at] ?? "0", other[at] ?? "0"];
    const [isNumber, isOther] = [/^\d/.test(left), /^\d/.test(right)];
    if (isNumber !== isOther) return isNumber ? 1 : -1;
    if (isNumber) {
      const difference = BigInt(left) - BigInt(right);
      if (difference !== 0n) return difference < 0n ? -1 : 1;
    } else if (left !== right) return left < right ? -1 : 1;
  }
  return 0;
}

const short = z.string().max(textMax).catch("");
const NumberOf = z.object({ version: z.string() });
/** Clients fail at an index with an empty one, whatever version of the gem they want. */
const Requirement = z
  .object({ requirements: outsideList(z.tuple([z.string(), NumberOf]), 1) })
  .transform(({ requirements }) => requirements.map(([by, { version }]) => [by, version] as const))
  .refine((all) =>
    all.every(([by, version]) => /^(?:=|!=|>|<|>=|<=|~>)$/.test(by) && numberForm.test(version)),
  );
/** The same as it is kept. */
const StoredRequirement = outsideList(z.tuple([z.string(), z.string().regex(numberForm)]), 1);
const StoredDependency = z.object({
  name: z.string().regex(nameForm),
  requirement: StoredRequirement,
});
const Dependency = z.object({
  name: z.string().max(nameLengthMax).regex(nameForm),
  requirement: Requirement,
  type: z.string().transform((type) => type.replace(/^:/, "")),
});

/** As Ruby writes a Gem::Specification, read as plain maps and texts. */
const Specification = z.object({
  name: z.string(),
  version: NumberOf,
  platform: z.string().catch("ruby"),
  authors: outsideList(short).catch([]),
  summary: short,
  description: short,
  email: z.union([outsideList(short), z.string().transform((one) => [one])]).catch([]),
  homepage: short,
  licenses: outsideList(short).catch([]),
  date: short,
  dependencies: z.array(Dependency).max(1_000).optional(),
  required_ruby_version: Requirement.optional(),
  required_rubygems_version: Requirement.optional(),
  rubygems_version: short,
  /** Without it, `gem install` refuses the gem. */
  specification_version: z.string().regex(/^\d{1,9}$/),
  metadata: z.record(z.string(), short).catch({}),
});

/** What indexes show of a gem. */
export type GemMetadata = Omit<z.output<typeof Specification>, "version"> &
  Readonly<{ number: string }>;

/** Which gem a file is of, by its specification; its digests are compared. @throws Refusal 422 */
export async function readGem(
  file: string,
): Promise<PackageFileName & Readonly<{ metadata: GemMetadata }>> {
  const { specification, digests, sums } = await partsOf(file);
  if (specification === undefined) throw badFile("It holds no metadata.gz.");
  if (!digests.has("data.tar.gz")) throw badFile("It holds no data.tar.gz.");
  if (sums !== undefined) compareSums(await yamlOf(sums, "checksums.yaml"), digests);
  const parsed = Specification.safeParse(await yamlOf(specification, "specification"));
  if (!parsed.success) {
    const fields = parsed.error.issues.map(({ path }) => path.join(".") || "all of it");
    throw badFile(`Its specification lacks or misspells: ${fields.join(", ")}.`);
  }
  const { version: versionField, ...rest } = parsed.data;
  const packageName = gemName(rest.name);
  const version = gemVersion(versionField.version, rest.platform);
  const fileName = gemFileName(packageName, version);
  const ruby = rest.required_ruby_version?.map((each) => each.join(" ")).join(", ");
  const languageVersion = ruby === undefined || ruby === ">= 0" ? null : ruby;
  const metadata = { ...rest, number: versionField.version };
  return { packageName, version, fileName, languageVersion, metadata };
}

/** That clients can read what was stored of a gem. @throws Refusal 422 */
export function checkGem(metadata: unknown): void {
  const { number, platform } = Stored.parse(metadata);
  gemVersion(number, platform);
}

/** Only what lines of indexes have in them. */
const Stored = z.object({
  number: z.string(),
  platform: z.string().catch("ruby"),
  dependencies: outsideList(StoredDependency).optional(),
  required_ruby_version: StoredRequirement.optional(),
  required_rubygems_version: StoredRequirement.optional(),
});

type Digests = Map<string, Readonly<Record<string, string>>>;

async function partsOf(file: string) {
  const digests: Digests = new Map();
  const found: { specification?: Buffer; sums?: Buffer } = {};
  const digested = async (name: string, content: Readable): Promise<void> => {
    const [sha256, sha512] = [createHash("sha256"), createHash("sha512")];
    const chunks: Buffer[] = [];
    for await (const chunk of content as AsyncIterable<Buffer>) {
      sha256.update(chunk);
      sha512.update(chunk);
      if (name !== "data.tar.gz") chunks.push(chunk);
    }
    digests.set(name, { SHA256: sha256.digest("hex"), SHA512: sha512.digest("hex") });
    if (name === "metadata.gz") found.specification = Buffer.concat(chunks);
  };
  await walkTar(file, {
    compression: "none",
    entriesMax,
    entry({ path, bytes, isFile }) {
      if (!isFile || path.includes("/")) throw badFile("It holds what no gem holds.");
      if (path !== "data.tar.gz" && bytes > packedMax) throw badFile(`Its ${path} is too large.`);
      if (path === "checksums.yaml.gz") {
        return async (content) => {
          found.sums = await buffer(content);
        };
      }
      const isPart = path === "metadata.gz" || path === "data.tar.gz";
      return isPart ? (content) => digested(path, content) : undefined;
    },
  });
  return { ...found, digests };
}

async function yamlOf(packed: Buffer, name: string): Promise<unknown> {
  const bytes = await inflated(packed, "gzip", specificationMax);
  return gemYaml(manifestText(bytes, name), name);
}

/** Of equal keys the last counts, as in Ruby. */
const yamlOptions = { schema: "failsafe", depthMax: 32, maxAliasCount: 1_000 } as const;

/** No tag makes more than a map of what it stands before. @throws Refusal 422 */
export function gemYaml(text: string, name: string): unknown {
  try {
    return parseYaml(text, yamlOptions);
  } catch {
    throw badFile(`Its ${name} is not YAML.`);
  }
}

const Sums = z.record(z.string(), z.record(z.string(), z.string()));

function compareSums(document: unknown, digests: Digests): void {
  const sums = Sums.safeParse(document);
  if (!sums.success) throw badFile("Its checksums.yaml is malformed.");
  for (const [algorithm, files] of Object.entries(sums.data)) {
    for (const [name, digest] of Object.entries(files)) {
      const found = digests.get(name)?.[algorithm];
      if (found !== undefined && found !== digest.trim()) {
        throw badFile(`Its ${name} does not have the digest that its checksums.yaml says.`);
      }
    }
  }
}
