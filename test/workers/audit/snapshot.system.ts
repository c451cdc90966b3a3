import { randomUUID } from "node:crypto";
import { expect } from "chai";

import type { AnyEvent, EventMetadata, Recorded } from "../../../src/events/core/event.ts";
import { type LocalIdKind, localIdStream } from "../../../src/events/core/local-id.ts";
import { mergeSettingsDefault } from "../../../src/events/merge-request/merge-setting.ts";
import { happenedIn, type Until } from "../../../src/projections/audit/happened.ts";
import { readRecorded } from "../../../src/projections/audit/read-events.ts";
import { rebuild } from "../../../src/projections/core/rebuild.ts";
import { issueProjection } from "../../../src/projections/issue/issue.ts";
import { mergeRequestProjection } from "../../../src/projections/merge-request/merge-request.ts";
import { mergeSettingProjection } from "../../../src/projections/merge-request/merge-setting.ts";
import { withReadModelsOf } from "../../../src/projections/past/as-of.ts";
import { numberEvent } from "../../../src/projections/past/number-event.ts";
import { eventsPerSnapshot, pastFold } from "../../../src/projections/past/past-fold.ts";
import {
  type FoundSource,
  findSources,
  type PastSource,
  typesOf,
} from "../../../src/projections/past/snapshot.ts";
import { projectProjection } from "../../../src/projections/project/project.ts";
import { companyProjection } from "../../../src/projections/team/company.ts";
import { snapshotOfPast } from "../../../src/workers/audit/snapshot.ts";
import { at, metadataFor } from "../../support/app/history.ts";
import { randomNumbers } from "../../support/app/random.ts";
import { givenProject, testWorkers } from "../../support/app/worker-deps.ts";

const { deps, databaseUrl, log } = await testWorkers();
const { db, store, vault } = deps;
const countMax = 20_001;
const random = randomNumbers(168);
const pick = <Value>(values: readonly Value[]): Value => values[random(values.length)] as Value;

const by = randomUUID();
const commit = (n: number) => n.toString(16).padStart(40, "0");

type Ends = Readonly<{ from: bigint; over?: Partial<EventMetadata> }>;

/** Appends to the end of a stream and waits until all is visible. @returns what the log holds of it */
async function append(
  stream: string,
  events: readonly AnyEvent[],
  { from, over = {} }: Ends,
): Promise<readonly Recorded[]> {
  let position = 0n;
  for (let n = 0; n < events.length; n += 100) {
    const some = events.slice(n, n + 100).map((event) => {
      const id = randomUUID();
      return { ...event, id, metadata: metadataFor(id, over) };
    });
    const revision = from + BigInt(n) - 1n;
    ({ position } = await store.append(stream, revision < 0n ? "none" : revision, some));
  }
  await deps.visible(position);
  const recorded: Recorded[] = [];
  for await (const event of store.readStream(stream, from)) recorded.push(event);
  return recorded;
}

/** A thing with the given changes behind its first event, and its number. */
async function givenThing(
  kind: LocalIdKind,
  category: string,
  {
    first,
    changes,
  }: Readonly<{ first: (id: string, projectId: string) => AnyEvent; changes: readonly AnyEvent[] }>,
) {
  const { projectId } = await givenProject(deps, `${category}-${randomUUID()}`.toLowerCase());
  const subjectId = randomUUID();
  const stream = `${category}-${subjectId}`;
  const start = await append(stream, [first(subjectId, projectId)], { from: 0n });
  const number = { kind, projectId, localId: 1, subjectId, assignedAt: at };
  await append(localIdStream(kind, projectId), [{ type: "LocalIdAssigned", data: number }], {
    from: 0n,
  });
  const own = changes.map((event) => ({ ...event, data: { ...event.data, projectId } }));
  const rest = await append(stream, own, { from: 1n });
  return { projectId, stream, events: [...start, ...rest], thing: { kind, localId: 1 } };
}

const issueCreated = (issueId: string, projectId: string): AnyEvent => ({
  type: "IssueCreated",
  data: {
    ...{ issueId, projectId, title: "Search", description: "", status: "OPEN" },
    ...{ assigneeIds: [], labelIds: [], createdById: by, createdAt: at },
  },
});

function issueChange(n: number): AnyEvent {
  if (random(5) === 0) {
    const closed = { commitId: commit(n), status: "CLOSED", previousStatus: "OPEN" };
    return { type: "IssueClosedByCommit", data: { ...closed, closedById: by, closedAt: at } };
  }
  const details = {
    ...(random(2) === 0 && { title: `Title ${n}` }),
    ...(random(4) === 0 && { description: `It finds ${n} "things", {and} 🙂` }),
    ...(random(4) === 0 && { status: pick(["OPEN", "IN_PROGRESS", "CLOSED"]) }),
    ...(random(4) === 0 && { assigneeIds: [by, randomUUID()].slice(random(2)) }),
  };
  const edit = { details, previousDetails: {}, editedById: by, editedAt: at };
  return { type: "IssueEdited", data: edit };
}

const requestDetails = (n: number) => ({
  ...{ title: `Request ${n}`, description: `It does ${n}`, workInProgress: n % 2 === 0 },
  ...{ removeSourceBranch: false, squashCommit: false },
  ...{ assignedUserIds: [], reviewerIds: [], labelIds: [] },
});

const requestOpened = (mergeRequestId: string, projectId: string): AnyEvent => ({
  type: "MergeRequestOpened",
  data: {
    ...{ mergeRequestId, projectId, sourceProjectId: projectId, details: requestDetails(0) },
    ...{ sourceBranch: "topic", targetBranch: "main", sourceCommit: commit(1) },
    ...{ openedById: by, openedAt: at },
  },
});

const approvers = Array.from({ length: 4 }, () => randomUUID());

function requestChange(n: number): AnyEvent {
  const approverId = pick(approvers);
  return pick<AnyEvent>([
    {
      type: "MergeRequestEdited",
      data: {
        ...{ details: requestDetails(n), previousDetails: requestDetails(0) },
        ...{ editedById: by, editedAt: at },
      },
    },
    {
      type: "MergeRequestApproved",
      data: { approverId, sourceCommit: commit(n), approvedAt: at },
    },
    { type: "MergeRequestApprovalWithdrawn", data: { approverId, withdrawnAt: at } },
    {
      type: "MergeRequestSourceMoved",
      data: { sourceCommit: commit(n), previousSourceCommit: commit(0), movedAt: at },
    },
    { type: "MergeRequestClosed", data: { closedById: by, closedAt: at } },
    { type: "MergeRequestReopened", data: { reopenedById: by, reopenedAt: at } },
  ]);
}

const many = <Value>(count: number, make: (n: number) => Value): readonly Value[] =>
  Array.from({ length: count }, (_, n) => make(n + 1));

const context = { open: vault.open };

/** How the rows come about, and what they are; with `whole` from the start. */
async function rowsThen(source: PastSource, until: Until, whole = false) {
  const { projection, placeId, thing } = source;
  const bounds = { until, countMax };
  const about = { placeId, types: typesOf([projection]), ...bounds };
  const happened = thing === undefined && whole ? await happenedIn(db, about) : [];
  const stream = `project-${placeId}`;
  const { found } = await findSources(db, stream, whole ? [] : [source], bounds);
  const none: FoundSource = { snapshot: undefined, happened };
  const fold = await pastFold(source, found[0] ?? none, {
    db,
    ...bounds,
    read: async (some) => [...(await readRecorded(store, some)).values()],
    number: ({ kind, localId }) => numberEvent(kind, placeId, localId, store),
  });
  if (fold === undefined) throw new Error("There is no such thing");
  const past = { ownerId: placeId, events: [], folds: new Map([[projection, fold]]), context };
  const rows = await withReadModelsOf(db, [projection], past, async (tx) => {
    const tables = projection.tables.map(async ({ name }) => [
      name,
      (await tx.raw(`select one::text as text from ?? as one order by text`, [name])).rows,
    ]);
    return Object.fromEntries(await Promise.all(tables)) as object;
  });
  if (!whole) await fold.keep();
  return { rows, applied: fold.events.length, isFromSnapshot: fold.start !== undefined };
}

/** Rows from snapshots are those from the first event on, at every position of these events. */
async function expectSame(source: PastSource, events: readonly Recorded[]): Promise<void> {
  for (const { position } of events) {
    const made = await rowsThen(source, { position });
    const whole = await rowsThen(source, { position }, true);
    expect(made.rows, `${source.projection.name} at ${position}`).to.deep.equal(whole.rows);
    expect(made.applied).to.be.at.most(eventsPerSnapshot + (made.isFromSnapshot ? -1 : 1));
  }
}

const snapshots = (placeId: string) =>
  db("as_of_snapshot").where({ place_id: placeId }).orderBy("position");
const positionsOf = async (placeId: string) =>
  (await snapshots(placeId)).map(({ position }) => position as bigint);

describe("snapshots of the past", () => {
  const issues = { first: issueCreated, changes: many(150, issueChange) };
  let one: Awaited<ReturnType<typeof givenThing>>;
  let source: PastSource;

  before(async () => {
    one = await givenThing("ISSUE", "issue", issues);
    source = { projection: issueProjection, placeId: one.projectId, thing: one.thing };
    await snapshotOfPast.reactAll?.(one.events, deps);
  });

  it("are made after every 32 events of a thing", async () => {
    const expected = [31, 63, 95, 127].map((n) => one.events[n]?.position);
    expect(await positionsOf(one.projectId)).to.deep.equal(expected);
  });

  it("lead to the rows that all events lead to, at every position of an issue", () =>
    expectSame(source, one.events));

  it("do so for merge requests and the settings of projects", async () => {
    const changes = many(140, requestChange);
    const request = await givenThing("MERGE_REQUEST", "mergeRequest", {
      first: requestOpened,
      changes,
    });
    const { projectId: placeId, thing } = request;
    const settings = await append(
      `mergeSetting-${placeId}`,
      many(130, (n) => {
        const given = { ...mergeSettingsDefault, squash: pick(["NEVER", "ALWAYS"]), n };
        const data = { settings: given, previousSettings: mergeSettingsDefault };
        const who = { projectId: placeId, changedById: by, changedAt: at };
        return { type: "MergeSettingsChanged", data: { ...data, ...who } };
      }),
      { from: 0n },
    );
    const details = (n: number) => ({
      ...{ title: `Project ${n}`, description: null, language: "Go", topics: [], siteUrl: null },
    });
    const edits = await append(
      `project-${placeId}`,
      many(130, (n) => ({
        type: "ProjectDetailsChanged",
        data: { details: details(n), previous: details(0), changedById: by, changedAt: at },
      })),
      { from: 1n },
    );
    await snapshotOfPast.reactAll?.([...request.events, ...settings, ...edits], deps);
    expect(log).to.deep.equal([]);
    expect(await positionsOf(placeId)).to.have.length(12);
    const every = (events: readonly Recorded[]) => events.filter((_, n) => n % 9 === 0 || n > 125);
    await expectSame({ projection: mergeRequestProjection, placeId, thing }, every(request.events));
    await expectSame({ projection: mergeSettingProjection, placeId }, every(settings));
    await expectSame({ projection: projectProjection, placeId }, every(edits));
  });

  it("do not count when the log has another event there, or for another version", async () => {
    const last = { position: one.events.at(-1)?.position ?? 0n };
    const { rows } = await rowsThen(source, last, true);
    const wrong = JSON.stringify({ issue: [] });
    const [first] = await positionsOf(one.projectId);
    const own = () => db("as_of_snapshot").where({ place_id: one.projectId });
    const before = await snapshots(one.projectId);
    try {
      await own().whereNot({ position: first }).update({ event_id: randomUUID(), rows: wrong });
      await own()
        .where({ position: first })
        .update({ version: issueProjection.version + 1, rows: wrong });
      const made = await rowsThen(source, last);
      expect([made.rows, made.isFromSnapshot]).to.deep.equal([rows, false]);
    } finally {
      await own().delete();
      await db("as_of_snapshot").insert(
        before.map((row) => ({ ...row, rows: JSON.stringify(row.rows) })),
      );
    }
  });

  it("are deleted by a rebuild of the read model, and made by who needs them next", async () => {
    const silent = () => undefined;
    const log = { info: silent, warn: silent, error: silent };
    const { signal } = new AbortController();
    const projections = [issueProjection];
    await rebuild({ databaseUrl, db, store, projections, context, log }, projections, { signal });
    expect(await positionsOf(one.projectId)).to.deep.equal([]);
    const position = one.events[140]?.position ?? 0n;
    expect((await rowsThen(source, { position })).isFromSnapshot).to.equal(false);
    expect(await positionsOf(one.projectId)).to.deep.equal([one.events[127]?.position]);
    expect((await rowsThen(source, { position })).isFromSnapshot).to.equal(true);
    await expectSame(source, one.events.slice(127));
  });

  it("do not show a time what an event of a later time has done", async () => {
    const { projectId, events, thing, stream } = await givenThing("ISSUE", "issue", {
      ...issues,
      changes: many(10, issueChange),
    });
    const title = (text: string): AnyEvent => ({
      type: "IssueEdited",
      data: {
        ...{ projectId, details: { title: text }, previousDetails: {} },
        ...{ editedById: by, editedAt: at },
      },
    });
    const from = BigInt(events.length);
    const late = { occurredAt: "2026-01-02T20:00:00.000Z" };
    await append(stream, [title("of a later time")], { from, over: late });
    const more = many(60, issueChange).map(({ type, data }) => ({
      type,
      data: { ...data, projectId },
    }));
    const rest = await append(stream, more, { from: from + 1n });
    const time = new Date("2026-01-02T12:00:00.000Z");
    const clocked = { projection: issueProjection, placeId: projectId, thing };
    const expected = await rowsThen(clocked, { time }, true);
    expect((await rowsThen(clocked, { time })).rows).to.deep.equal(expected.rows);
    expect(await positionsOf(projectId), "without one event").to.deep.equal([]);
    await snapshotOfPast.reactAll?.([...events, ...rest], deps);
    expect(await positionsOf(projectId)).to.have.length(2);
    const made = await rowsThen(clocked, { time });
    expect([made.rows, made.isFromSnapshot]).to.deep.equal([expected.rows, false]);
    const after = await rowsThen(clocked, { time: new Date("2026-01-02T21:00:00.000Z") });
    expect(after.isFromSnapshot).to.equal(true);
  });

  it("are made of nothing for which personal data was decrypted", async () => {
    const companyId = randomUUID();
    const contactPhone = await vault.seal(`company-${companyId}`, "555 0100");
    const details = {
      ...{ title: "Company", description: null, private: false, avatar: null, url: null },
      ...{ contactPhone, contactEmail: null },
    };
    const alias = `c${companyId.slice(0, 8)}`;
    const created = { companyId, ownerId: by, alias, details, createdAt: at };
    const changed = { details, previous: details, changedById: by, changedAt: at };
    const edits = many(70, () => ({ type: "CompanyDetailsChanged", data: changed }));
    const stream = `company-${companyId}`;
    const all = await append(stream, [{ type: "CompanyCreated", data: created }, ...edits], {
      from: 0n,
    });
    const source = { projection: companyProjection, placeId: companyId };
    const then = () => rowsThen(source, { position: all.at(-1)?.position ?? 0n });
    expect(JSON.stringify((await then()).rows)).to.include("555 0100");
    await vault.forget(`company-${companyId}`);
    expect(JSON.stringify((await then()).rows)).not.to.include("555 0100");
    expect(await positionsOf(companyId)).to.deep.equal([]);
  });

  it("cost nothing where fewer events come", async () => {
    const untouched = new Proxy(deps, {
      get: (_, name) => {
        throw new Error(`uses ${String(name)}`);
      },
    });
    const few = one.events.filter(({ revision }) => revision % 32n !== 31n);
    expect(few).to.have.length(147);
    expect(await snapshotOfPast.reactAll?.(few, untouched)).to.deep.equal([]);
  });
});
