import { randomUUID } from "node:crypto";
import { expect } from "chai";
import type { AnyEvent, Recorded } from "../../../src/events/core/event.ts";
import { ProjectId } from "../../../src/events/core/ids.ts";
import { localIdStream } from "../../../src/events/core/local-id.ts";
import { issueStream } from "../../../src/events/issue/issue.ts";
import { issueCommentStream } from "../../../src/events/issue/issue-comment.ts";
import { projectStream } from "../../../src/events/project/project.ts";
import { issueProjection } from "../../../src/projections/issue/issue.ts";
import { unnumberedIssues } from "../../../src/projections/issue/list.ts";
import { at, history } from "../../support/app/history.ts";
import {
  applyEach,
  context,
  project,
  reset,
  rewind,
  rowsOf,
} from "../../support/app/projection.ts";
import { randomNumbers } from "../../support/app/random.ts";
import { testDatabase } from "../../support/store/database.ts";

const { db } = await testDatabase();
const projectId = ProjectId.parse(randomUUID());
const by = randomUUID();
const [first, second, third] = [randomUUID(), randomUUID(), randomUUID()];

type Written = readonly [string, AnyEvent];

const created = (issueId: string, of: string = projectId): Written => [
  issueStream(issueId),
  {
    type: "IssueCreated",
    data: {
      issueId,
      projectId: of,
      title: "Search",
      description: "",
      status: "OPEN",
      assigneeIds: [],
      labelIds: [],
      createdById: by,
      createdAt: at,
    },
  },
];
const numbered = (subjectId: string, localId: number, kind = "ISSUE"): Written => [
  localIdStream("ISSUE", projectId),
  { type: "LocalIdAssigned", data: { kind, projectId, localId, subjectId, assignedAt: at } },
];
const edited = (issueId: string, status: string): Written => [
  issueStream(issueId),
  {
    type: "IssueEdited",
    data: {
      projectId,
      details: { status },
      previousDetails: { status: "OPEN" },
      editedById: by,
      editedAt: at,
    },
  },
];
const deleted = (issueId: string): Written => [
  issueStream(issueId),
  { type: "IssueDeleted", data: { projectId, title: "Search", deletedById: by, deletedAt: at } },
];
/** An event of a comment on an issue, so many milliseconds later. */
function commented(type: string, issueId: string, data: object, laterMs: number): Written {
  const time = new Date(Date.parse(at) + laterMs).toISOString();
  const people = { createdById: by, editedById: by, deletedById: by };
  const times = { createdAt: time, editedAt: time, deletedAt: time };
  const all = {
    issueId,
    projectId,
    message: "m",
    previousMessage: "p",
    ...people,
    ...times,
    ...data,
  };
  return [issueCommentStream(third), { type, data: all }];
}
const purged: Written = [
  projectStream(projectId),
  { type: "ProjectPurged", data: { projectId, purgedAt: at } },
];

const apply = (events: readonly Recorded[]) => project(db, issueProjection, events, context);

async function totals(): Promise<Record<string, number>> {
  const rows = await db("issue_total").where("project_id", projectId);
  return Object.fromEntries(rows.map(({ status, total }) => [status, Number(total)]));
}

beforeEach(() => reset(db, issueProjection));

describe("the issue read model", () => {
  it("counts the issues of a project that have a number, by status", async () => {
    await apply(history(created(first), created(second), created(third)));
    expect(await totals()).to.deep.equal({});
    const rest = [numbered(first, 1), numbered(second, 2), edited(second, "CLOSED")];
    await rewind(db, issueProjection);
    await apply(history(created(first), created(second), created(third), ...rest));
    expect(await totals()).to.deep.equal({ OPEN: 1, CLOSED: 1 });
  });

  it("ends the same in one batch, event by event, and repeated", async () => {
    const log = history(
      created(first),
      numbered(first, 1),
      created(second),
      edited(first, "IN_PROGRESS"),
      numbered(second, 2),
      deleted(first),
      created(third),
      edited(second, "COMPLETED"),
      numbered(third, 3),
    );
    await apply(log);
    const atOnce = await rowsOf(db, issueProjection);
    expect(await totals()).to.deep.equal({ COMPLETED: 1, OPEN: 1 });

    await rewind(db, issueProjection);
    await apply(log);
    expect(await rowsOf(db, issueProjection)).to.deep.equal(atOnce);

    await reset(db, issueProjection);
    for (const event of log) await apply([event]);
    expect(await rowsOf(db, issueProjection)).to.deep.equal(atOnce);
  });

  it("ends the same one event at a time, and all at once", async () => {
    const below = randomNumbers(3);
    const pick = <Item>(items: readonly Item[]): Item => items[below(items.length)]!;
    const next = (localId: number): Written => {
      const id = pick([first, second, third]);
      const status = pick(["OPEN", "CLOSED", "COMPLETED"]);
      const often = [numbered(id, localId), edited(id, status), edited(id, status)];
      return pick([...often, ...often, created(id), deleted(id), deleted(id)]);
    };
    let counted = 0;
    for (let times = 0; times < 12; times += 1) {
      const all = [first, second, third].map((id) => created(id));
      const log = history(...all, ...Array.from({ length: 12 }, (_, n) => next(n + 1)));
      await reset(db, issueProjection);
      await apply(log);
      const rows = await rowsOf(db, issueProjection);
      counted += rows["issue_total"]?.length ?? 0;
      for (const batches of [log.map((event) => [event]), [log]]) {
        await reset(db, issueProjection);
        await applyEach(db, issueProjection, batches);
        expect(await rowsOf(db, issueProjection)).to.deep.equal(rows);
      }
    }
    expect(counted).to.be.above(3);
  });

  it("ignores the numbers of other kinds of things", async () => {
    await apply(history(created(first), numbered(first, 7, "MERGE_REQUEST")));
    expect(await db("issue").pluck("local_id")).to.deep.equal([null]);
  });

  it("changes when a comment on it is written, edited or deleted", async () => {
    const changes = [
      commented("IssueCommentCreated", first, { issueCommentId: third }, 1),
      commented("IssueCommentEdited", first, {}, 2),
      commented("IssueCommentDeleted", first, {}, 3),
    ];
    for (const [index] of changes.entries()) {
      await reset(db, issueProjection);
      await apply(history(created(first), created(second), ...changes.slice(0, index + 1)));
      const times = await db("issue").orderBy("updated_at").pluck("updated_at");
      const expected = [0, index + 1].map((laterMs) => new Date(Date.parse(at) + laterMs));
      expect(times).to.deep.equal(expected);
    }
  });

  it("finds issues that were left without a number", async () => {
    await apply(history(created(first), created(second), numbered(first, 1)));
    const later = new Date(Date.parse(at) + 1);
    expect(await unnumberedIssues(db, later, 10)).to.deep.equal([
      { id: second, project_id: projectId },
    ]);
    expect(await unnumberedIssues(db, new Date(at), 10)).to.deep.equal([]);
  });

  it("drops everything of a purged project, and nothing else", async () => {
    const kept = randomUUID();
    await apply(history(created(first), numbered(first, 1), created(kept, by), purged));
    expect(await db("issue").pluck("id")).to.deep.equal([kept]);
    expect(await totals()).to.deep.equal({});
  });
});
