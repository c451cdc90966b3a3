import { z } from "zod";
import { outsideList } from "../../platform/outside-list.ts";
import { compareNuget, nugetVersion } from "./format.ts";

/** Of an address or a version in a document: patterns are matched against it. */
const textMax = 2_048;
/**
 * Pages, versions and dependencies of one document. Each of them is answered with addresses of this service, which
 * are far longer than the shortest that a document can say. Real documents of 2 MiB have a fifth of that.
 */
const pagesMax = 2_000;
const leavesMax = 5_000;
const dependenciesMax = 20_000;

const Dependency = z.looseObject({ id: z.string().max(textMax) });
const Group = z.looseObject({ dependencies: outsideList(Dependency).nullish() });
const Entry = z.looseObject({
  version: z.string().max(textMax),
  listed: z.boolean().optional(),
  published: z.string().optional(),
  dependencyGroups: outsideList(Group).nullish(),
});
const Leaf = z.looseObject({ catalogEntry: Entry });
type Leaf = z.output<typeof Leaf>;
const Page = z.looseObject({
  "@id": z.string().max(textMax),
  count: z.int(),
  lower: z.string().max(textMax),
  upper: z.string().max(textMax),
  items: z.array(Leaf).max(leavesMax).optional(),
});
type Page = z.output<typeof Page>;
const Index = z.looseObject({ items: z.array(Page).max(pagesMax) });

export type RegistrationPage = Readonly<{
  url: string;
  count: number;
  lower: string;
  upper: string;
}>;

/** A query on the registration of a package that another registry made. */
export type RegistrationQuestion = Readonly<{
  bytes: Uint8Array;
  /** Which document it is: the index, or the page that the index names so. */
  of: "index" | RegistrationPage;
  /** The package, in lower case. */
  key: string;
  /** Of the repository here. */
  base: string;
  /** Path of the registrations below it. */
  hive: string;
  want:
    | Readonly<{ kind: "index" }>
    | Readonly<{ kind: "page"; lower: string; upper: string }>
    | Readonly<{ kind: "leaf"; version: string }>;
}>;

export type RegistrationAnswer =
  /** JSON whose addresses are all at this service. */
  | Readonly<{ kind: "json"; bytes: Uint8Array }>
  /** The index does not have it: it is in this page. */
  | Readonly<{ kind: "elsewhere"; page: RegistrationPage }>
  | Readonly<{ kind: "missing" }>
  /** It is no registration, or a too large one. */
  | Readonly<{ kind: "malformed" }>;

/** Takes as long as the document is large: 2 MiB take up to a second. */
export function parseRegistration(question: RegistrationQuestion): RegistrationAnswer {
  try {
    return answerTo(question);
  } catch {
    // It is no JSON, has versions that are none, or nests too deep to be written.
    return { kind: "malformed" };
  }
}

function answerTo(question: RegistrationQuestion): RegistrationAnswer {
  const { bytes, of, want } = question;
  const document: unknown = JSON.parse(new TextDecoder().decode(bytes));
  if (of !== "index") {
    const { items = [] } = Page.parse(document);
    mustBeFew(items);
    return answerIn({ ...of, "@id": of.url, items }, question);
  }
  const pages = Index.parse(document).items.filter(isWritable);
  mustBeFew(pages.flatMap(({ items = [] }) => items));
  if (want.kind === "index") {
    const items = pages.map((page) => shownPage(page, question));
    return json({ "@id": `${placeOf(question)}/index.json`, count: items.length, items });
  }
  const page = pages.find((each) => isWanted(each, want));
  if (page === undefined) return { kind: "missing" };
  return answerIn(page, question);
}

type Wanted = Exclude<RegistrationQuestion["want"], { kind: "index" }>;

function isWanted(page: Page, want: Wanted): boolean {
  if (want.kind === "page") return page.lower === want.lower && page.upper === want.upper;
  const { version } = want;
  return (
    compareNuget(version, keyOf(page.lower)) >= 0 && compareNuget(version, keyOf(page.upper)) <= 0
  );
}

function answerIn(page: Page, question: RegistrationQuestion): RegistrationAnswer {
  const { want } = question;
  if (page.items === undefined) {
    const { "@id": url, count, lower, upper } = page;
    return { kind: "elsewhere", page: { url, count, lower, upper } };
  }
  if (want.kind !== "leaf") return json(shownPage(page, question));
  const leaf = page.items.find(({ catalogEntry }) => keyOf(catalogEntry.version) === want.version);
  if (leaf === undefined) return { kind: "missing" };
  const { catalogEntry, ...rest } = shownLeaf(leaf, question);
  const { listed, published } = catalogEntry;
  return json({ ...rest, listed, published, catalogEntry: catalogEntry["@id"] });
}

/** Whether its bounds can stand in a path of ours. */
const isWritable = ({ lower, upper }: Page): boolean =>
  [lower, upper].every((version) => /^\d[0-9A-Za-z.+-]{0,127}$/.test(version));

function mustBeFew(leaves: readonly Leaf[]): void {
  let dependencies = 0;
  for (const { catalogEntry } of leaves) {
    for (const group of catalogEntry.dependencyGroups ?? []) {
      dependencies += group.dependencies?.length ?? 0;
    }
  }
  if (leaves.length > leavesMax) throw new RangeError(`It has over ${leavesMax} versions.`);
  if (dependencies > dependenciesMax) {
    throw new RangeError(`It has over ${dependenciesMax} dependencies.`);
  }
}

const placeOf = ({ base, hive, key }: RegistrationQuestion): string => `${base}/${hive}/${key}`;

function shownPage({ count, lower, upper, items }: Page, question: RegistrationQuestion) {
  const at = placeOf(question);
  return {
    "@id": `${at}/page/${lower}/${upper}.json`,
    ...{ count, lower, upper },
    parent: `${at}/index.json`,
    ...(items !== undefined && { items: items.map((leaf) => shownLeaf(leaf, question)) }),
  };
}

/** As the external registry says it, with every address at this service. */
function shownLeaf({ catalogEntry }: Leaf, question: RegistrationQuestion) {
  const { base, hive, key } = question;
  const at = placeOf(question);
  const version = keyOf(catalogEntry.version);
  const packageContent = `${base}/flat/${key}/${version}/${key}.${version}.nupkg`;
  const groups = catalogEntry.dependencyGroups?.map((group) => ({
    ...group,
    dependencies: group.dependencies?.map((each) => ({
      ...each,
      registration: `${base}/${hive}/${each.id.toLowerCase()}/index.json`,
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

/** @throws Refusal when it is none */
const keyOf = (version: string): string => nugetVersion(version).key;

const json = (value: unknown): RegistrationAnswer => ({
  kind: "json",
  bytes: new TextEncoder().encode(JSON.stringify(value)),
});
