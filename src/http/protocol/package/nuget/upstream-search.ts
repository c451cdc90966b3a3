import { z } from "zod";

import { nugetName } from "../../../../package/nuget/format.ts";
import { Refusal } from "../../../../platform/refusal.ts";
import type { Deps } from "../../../core/deps.ts";
import type { DocumentContext } from "../proxy/document.ts";
import { documentOf, resourceOf } from "./proxy.ts";

const textMax = 4_096;
const listMax = 1_000;
const versionsMax = 10_000;

const searchTypes = [
  ...["SearchQueryService/3.5.0", "SearchQueryService/3.0.0-rc"],
  ...["SearchQueryService/3.0.0-beta", "SearchQueryService"],
];
const autocompleteTypes = [
  ...["SearchAutocompleteService/3.5.0", "SearchAutocompleteService/3.0.0-rc"],
  ...["SearchAutocompleteService/3.0.0-beta", "SearchAutocompleteService"],
];

const text = z.string().max(textMax);
const texts = z.union([text, z.array(text).max(listMax)]);
const Version = z.object({ version: text, downloads: z.number().optional() });
const Result = z.object({
  id: text,
  version: text,
  title: text.optional().catch(undefined),
  description: z.string().optional().catch(undefined),
  summary: z.string().optional().catch(undefined),
  authors: texts.optional().catch(undefined),
  tags: texts.optional().catch(undefined),
  projectUrl: text.optional().catch(undefined),
  licenseUrl: text.optional().catch(undefined),
  iconUrl: text.optional().catch(undefined),
  packageTypes: z
    .array(z.object({ name: text }))
    .max(listMax)
    .optional()
    .catch(undefined),
  totalDownloads: z.number().optional().catch(undefined),
  versions: z.array(Version).max(versionsMax),
});
const total = z.number().int().min(0);
const Results = z.object({ totalHits: total, data: z.array(z.unknown()).max(listMax) });
const Names = z.object({ totalHits: total.optional(), data: z.array(text).max(versionsMax) });

/** The parameters of a search, read as the service's own search does. */
export type Query = Readonly<Record<string, string>>;

/** Some of what a search finds. */
export type FoundPage = Readonly<{
  /** Of all that it finds. */
  total: number;
  /** By the key of the package. */
  items: readonly (readonly [key: string, value: unknown])[];
}>;

/**
 * What the external registry finds, with the addresses of this service. Its answers are not kept: there are as many
 * as questions.
 *
 * @throws Refusal 503 `registry.busy`; HttpRefusal 502
 */
export async function searchUpstream(
  context: DocumentContext,
  { query, base }: Readonly<{ query: Query; base: string }>,
  deps: Deps,
): Promise<FoundPage> {
  const found = await answered(context, { types: searchTypes, query, schema: Results }, deps);
  const items = (found?.data ?? []).flatMap((each) => {
    const result = Result.safeParse(each).data;
    const key = keyOf(result?.id);
    if (result === undefined || key === undefined) return [];
    return [[key, served(result, key, base)] as const];
  });
  return { total: found?.totalHits ?? 0, items };
}

/** The same for names alone, or for the versions of `id` in the query. */
export async function completeUpstream(
  context: DocumentContext,
  query: Query,
  deps: Deps,
): Promise<FoundPage> {
  const found = await answered(context, { types: autocompleteTypes, query, schema: Names }, deps);
  const data = found?.data ?? [];
  const items = data.flatMap((each) => {
    const key = query["id"] === undefined ? keyOf(each) : each;
    return key === undefined ? [] : [[key, each] as const];
  });
  return { total: found?.totalHits ?? data.length, items };
}

type Question<Schema> = Readonly<{ types: readonly string[]; query: Query; schema: Schema }>;

async function answered<Schema extends z.ZodType>(
  context: DocumentContext,
  { types, query, schema }: Question<Schema>,
  deps: Deps,
): Promise<z.output<Schema> | undefined> {
  const url = new URL((await resourceOf(context, types, deps)).replace(/\/$/, ""));
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  const order = { path: `search${url.search}`, url: url.href, schema, isPassing: true };
  return await documentOf(context, order, deps).catch((error: unknown) => {
    // Who has no such thing finds nothing.
    if (error instanceof Refusal && error.kind === "not_found") return undefined;
    throw error;
  });
}

/** Undefined for an id that is no valid name here, and so could not be requested. */
function keyOf(id: string | undefined): string | undefined {
  try {
    return id === undefined ? undefined : nugetName(id).key;
  } catch {
    return undefined;
  }
}

function served(result: z.output<typeof Result>, key: string, base: string) {
  const registration = `${base}/registration-semver2/${key}`;
  const index = { "@id": `${registration}/index.json`, registration: `${registration}/index.json` };
  const versions = result.versions.map(({ version, downloads = 0 }) => ({
    "@id": `${registration}/${version.toLowerCase().split("+", 1)[0]}.json`,
    version,
    downloads,
  }));
  return { "@type": "Package", ...result, ...index, versions };
}
