import { listIssueComments } from "../src/projections/issue/issue-comment.ts";
import { type IssueFilter, listIssues } from "../src/projections/issue/list.ts";
import {
  listMergeRequests,
  type MergeRequestFilter,
} from "../src/projections/merge-request/merge-request-query.ts";
import { figure, quantile, timed } from "./figure.ts";
import {
  type IssueWorld,
  labels,
  makeIssueWorld,
  people,
  startOf2026,
  words,
} from "./issue-world.ts";

/**
 * The 99th percentile of the lists of issues and merge requests on an instance, against the same on one
 * of a hundredth of its size, in the same run. Both are made through the log: 100 issues with 3 comments
 * each and 10 merge requests a project. The lists alternate between the two, so what disturbs the machine
 * disturbs both.
 *
 * node --import tsx bench/issue-list.ts [projects, 200 unless given] [queries of each list, 1000]
 */
const projects = Number(process.argv[2] ?? 200);
const queriesEach = Number(process.argv[3] ?? 1_000);

type List = (world: IssueWorld, round: number) => Promise<unknown>;

const large = await makeIssueWorld(projects);
const small = await makeIssueWorld(Math.max(1, Math.round(projects / 100)));
try {
  for (const [name, list] of lists()) {
    const times = { large: [] as number[], small: [] as number[] };
    for (let round = 0; round < queriesEach + 50; round += 1) {
      for (const [of, world] of [
        ["large", large],
        ["small", small],
      ] as const) {
        const ms = await timed(() => list(world, round));
        // The first ones pay for connections and plans.
        if (round >= 50) times[of].push(ms);
      }
    }
    const p99 = (of: "large" | "small") => quantile(times[of], 0.99);
    figure(`${name}, p99`, "ms", p99("large"), { name: "of a hundredth", value: p99("small") });
  }
} finally {
  await large.close();
  await small.close();
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

function issueFilters(): Readonly<Record<string, (round: number) => Partial<IssueFilter>>> {
  return {
    all: () => ({}),
    "by status": () => ({ status: "OPEN" }),
    "by label": (round) => ({ labelIds: [pick(labels, round)] }),
    "by two labels": (round) => ({ labelIds: [pick(labels, round), pick(labels, round + 1)] }),
    "by assignee": (round) => ({ assigneeId: pick(people, round) }),
    "by author": (round) => ({ authorId: pick(people, round), sort: "updated" }),
    "by text": (round) => ({ q: `${pick(words, round)} ${pick(words, round + 3)}` }),
    "changed since": () => ({ updatedAfter: new Date(startOf2026 + 50 * 60_000), sort: "updated" }),
  };
}

function mergeRequestFilters(): Readonly<
  Record<string, (round: number) => Partial<MergeRequestFilter>>
> {
  return {
    all: () => ({}),
    "by status": () => ({ status: "OPENED" }),
    "by label": (round) => ({ labelIds: [pick(labels, round)] }),
    "by assignee": (round) => ({ assigneeId: pick(people, round) }),
    "by reviewer": (round) => ({ reviewerId: pick(people, round) }),
    "by author": (round) => ({ authorId: pick(people, round), sort: "updated" }),
    "by branch": () => ({ targetBranch: "release" }),
    "by text": (round) => ({ q: `${pick(words, round)} ${pick(words, round + 3)}` }),
    drafts: () => ({ draft: true }),
  };
}

function listOfIssues(filter: (round: number) => Partial<IssueFilter>): List {
  return async (world, round) => {
    const wanted = { sort: "created", order: "desc", ...filter(round) } as const;
    const page = { limit: 10, offset: 0 };
    const { rows } = await listIssues(world.db, projectOf(world, round), wanted, page);
    const [first] = rows;
    if (first !== undefined && round % 4 === 0) await listIssueComments(world.db, first.id, page);
  };
}

function listOfMergeRequests(filter: (round: number) => Partial<MergeRequestFilter>): List {
  return (world, round) => {
    const wanted = { sort: "created", order: "desc", ...filter(round) } as const;
    const page = { projectId: projectOf(world, round), limit: 10, offset: 0 };
    return listMergeRequests(world.db, { ...wanted, ...page });
  };
}

function projectOf({ projectIds }: IssueWorld, round: number) {
  return pick(projectIds, round * 7_919);
}

function pick<Value>(values: readonly Value[], index: number): Value {
  return values[index % values.length] as Value;
}
