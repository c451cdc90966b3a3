import { z } from "zod";

import type { PackageType } from "../events/package/version.ts";
import { clipText, storableText } from "../platform/storable-text.ts";
import { isPrerelease, isSemVer2, isSemVer2Range } from "./nuget/format.ts";

/** What a search reads of a file of a version beside the name of its package. */
export type Searched = Readonly<{
  /** In lower case: title and tags on the first line, then the description. */
  words: string;
  /** Each between spaces. */
  traits: string;
}>;

const wordsLengthMax = 4_000;
const typeLengthMax = 200;
const typesMax = 20;

const text = z.string().catch("");
const textsOf = z.array(z.string()).catch([]);
const noFields = { title: "", tags: "", summary: "", description: "" };
const NugetMetadata = z
  .object({
    fields: z.object({ title: text, tags: text, summary: text, description: text }).catch(noFields),
    packageTypes: textsOf.transform((types) => types.slice(0, typesMax)),
    dependencyGroups: z
      .array(z.object({ dependencies: z.array(z.object({ range: text })).catch([]) }))
      .catch([]),
  })
  .catch({ fields: noFields, packageTypes: [], dependencyGroups: [] });
const Manifest = z
  .object({ description: text, keywords: textsOf, type: text })
  .catch({ description: "", keywords: [], type: "" });

export const prereleaseTrait = "prerelease";
export const semVer2Trait = "semver2";
export const typeTrait = (type: string): string =>
  `type=${encodeURIComponent(clipText(storableText(type), typeLengthMax).toLowerCase())}`;

type NugetFile = Readonly<{ version: string; metadata: z.output<typeof NugetMetadata> }>;

/** Whether clients that know no SemVer 2 must not see it. */
export const needsSemVer2 = ({
  version,
  metadata: { dependencyGroups },
}: Readonly<{ version: string; metadata: Pick<NugetFile["metadata"], "dependencyGroups"> }>) =>
  isSemVer2(version) ||
  dependencyGroups.some(({ dependencies }) =>
    dependencies.some(({ range }) => isSemVer2Range(range)),
  );

function nuget(version: string, given: unknown): Searched {
  const metadata = NugetMetadata.parse(given);
  const { fields, packageTypes } = metadata;
  const traits = packageTypes.map(typeTrait);
  if (isPrerelease(version)) traits.push(prereleaseTrait);
  if (needsSemVer2({ version, metadata })) traits.push(semVer2Trait);
  const head = [fields.title, fields.tags];
  return searched(head, [fields.summary, fields.description], traits);
}

function manifest(_: string, given: unknown): Searched {
  const { description, keywords, type } = Manifest.parse(given);
  return searched(keywords, [description], [typeTrait(type || "library")]);
}

const readers: Readonly<
  Partial<Record<PackageType, (version: string, metadata: unknown) => Searched>>
> = { nuget, npm: manifest, composer: manifest, cargo: manifest };

function searched(
  head: readonly string[],
  rest: readonly string[],
  traits: readonly string[],
): Searched {
  const line = (texts: readonly string[]) => storableText(texts.join(" ")).replaceAll(/\s+/g, " ");
  const words = clipText(`${line(head)}\n${line(rest)}`.toLowerCase(), wordsLengthMax);
  return { words, traits: ` ${traits.join(" ")} ` };
}

/**
 * Made once, when the file is stored.
 *
 * @param metadata of the file, as JSON
 * @returns undefined for a type whose registry is not searched
 */
export function searchedIn(
  type: PackageType,
  { version, metadata }: Readonly<{ version: string; metadata: string }>,
): Searched | undefined {
  return readers[type]?.(version, JSON.parse(metadata));
}
