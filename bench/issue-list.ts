import { listIssueComments } from "../src/projections/issue/issue-comment.ts";
import { type IssueFilter, listIssues } from "../src/projections/issue/list.ts";
import {
  listMergeRequests,
  type MergeRequestFilter,
} from "../src/projections/merge-request/merge-request-query.ts";
import { figure, median, quantile, timed } from "./figure.ts";
import {
  type IssueWorld,
  labelsOf,
  makeIssueWorld,
  people,
  startOf2026,
  words,
} from "./issue-world.ts";

/**
 * The 99th percentile of the lists of issues and merge requests on an instance, against the same on one
 * of a hundredth of its size, in the same run. Both are made through the log: 100 issues with 3 comments
 * each and 10 merge requests a project.
 *
 * Both are queried for the same number of projects, spread over all of them, in blocks that alternate: large, small,
 * small, large, and so on. The first block of each is not measured: it reads the pages of these projects. What is held
 * against each other is the median of the blocks, so that neither a page that was read from the disk nor what the machine did
 * for a second decides. Each block is printed: p50 and p99 in ms.
 *
 * node --import tsx bench/issue-list.ts [projects, 200 unless given] [queries of a block, 1000] [words of names of lists]
 */
const projects = Number(process.argv[2] ?? 200);
const queriesEach = Number(process.argv[3] ?? 1_000);
const wanted = process.argv[4] ?? "";
const blocks = 7;
const projectsRequested = 100;

type List = (world: IssueWorld, round: number) => Promise<unknown>;
type Block = Readonly<{ p50: number; p99: number }>;

const large = await makeIssueWorld(projects);
const small = await makeIssueWorld(Math.max(1, Math.round(projects / 100)));
try {
  for (const [name, list] of lists()) if (name.includes(wanted)) await compare(name, list);
} finally {
  await large.close();
  await small.close();
}

async function compare(name: string, list: List): Promise<void> {
  const found = { large: [] as Block[], small: [] as Block[] };
  for (let block = 0; block <= blocks; block += 1) {
    const worlds = [["large", large] as const, ["small", small] as const];
    for (const [of, world] of block % 2 === 0 ? worlds : worlds.reverse()) {
      const measured = await blockOf(world, list);
      if (block > 0) found[of].push(measured);
    }
  }
  for (const of of ["large", "small"] as const) {
    const shown = found[of].map(({ p50, p99 }) => `${p50.toFixed(2)}/${p99.toFixed(2)}`);
    process.stdout.write(`  ${name}, ${of}: ${shown.join(" ")}\n`);
  }
  for (const part of ["p50", "p99"] as const) {
    const middle = (of: "large" | "small") => median(found[of].map((block) => block[part]));
    const baseline = { name: "of a hundredth", value: middle("small") };
    figure(`${name}, ${part}`, "ms", middle("large"), baseline);
  }
}

async function blockOf(world: IssueWorld, list: List): Promise<Block> {
  const times: number[] = [];
  for (let round = 0; round < queriesEach; round += 1) {
    times.push(await timed(() => list(world, round)));
  }
  return { p50: median(times), p99: quantile(times, 0.99) };
}

function lists(): readonly (readonly [string, List])[] {
  const issues = Object.entries(issueFilters()).map(
    ([name, filter]) => [`issues, ${name}`, listOfIssues(filter)] as const,
  );
  const requests = Object.entries(mergeRequestFilters()).map(
    ([name, filter]) => [`merge requests, ${name}`, listOfMergeRequests(filter)] as const,
  );
  return [...issues, ...requests];
}

/** @param labels of the queried project */
type Filter<Wanted> = (round: number, labels: readonly string[]) => Partial<Wanted>;

function issueFilters(): Readonly<Record<string, Filter<IssueFilter>>> {
  return {
    all: () => ({}),
    "by status": () => ({ statuses: ["OPEN"] }),
    "by label": (round, labels) => ({ labelIds: [pick(labels, round)] }),
    "by two labels": (round, labels) => ({
      labelIds: [pick(labels, round), pick(labels, round + 1)],
    }),
    "by assignee": (round) => ({ assigneeId: pick(people, round) }),
    "by author": (round) => ({ authorId: pick(people, round), sort: "updated" }),
    "by text": (round) => ({ q: `${pick(words, round)} ${pick(words, round + 3)}` }),
    "changed since": () => ({ updatedAfter: new Date(startOf2026 + 50 * 60_000), sort: "updated" }),
  };
}

function mergeRequestFilters(): Readonly<Record<string, Filter<MergeRequestFilter>>> {
  return {
    all: () => ({}),
    "by status": () => ({ statuses: ["OPENED"] }),
    "by label": (round, labels) => ({ labelIds: [pick(labels, round)] }),
    "by assignee": (round) => ({ assigneeId: pick(people, round) }),
    "by reviewer": (round) => ({ reviewerId: pick(people, round) }),
    "by author": (round) => ({ authorId: pick(people, round), sort: "updated" }),
    "by branch": () => ({ targetBranch: "release" }),
    "by text": (round) => ({ q: `${pick(words, round)} ${pick(words, round + 3)}` }),
    drafts: () => ({ draft: true }),
  };
}

function listOfIssues(filter: Filter<IssueFilter>): List {
  return async (world, round) => {
    const projectId = projectOf(world, round);
    const filtered = filter(round, labelsOf(projectId));
    const wanted = { sort: "created", order: "desc", ...filtered } as const;
    const page = { limit: 10, offset: 0 };
    const { rows } = await listIssues(world.db, projectId, wanted, page);
    const [first] = rows;
    if (first !== undefined && round % 4 === 0) await listIssueComments(world.db, first.id, page);
  };
}

function listOfMergeRequests(filter: Filter<MergeRequestFilter>): List {
  return (world, round) => {
    const projectId = projectOf(world, round);
    const filtered = filter(round, labelsOf(projectId));
    const wanted = { sort: "created", order: "desc", ...filtered } as const;
    const page = { projectId, limit: 10, offset: 0 };
    return listMergeRequests(world.db, { ...wanted, ...page });
  };
}

/** One of so many projects, which lie as far from each other as there are others. */
function projectOf({ projectIds }: IssueWorld, round: number) {
  const step = Math.max(1, Math.floor(projectIds.length / projectsRequested));
  return pick(projectIds, (round % projectsRequested) * step);
}

function pick<Value>(values: readonly Value[], index: number): Value {
  return values[index % values.length] as Value;
}
