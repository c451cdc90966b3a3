import { readFile } from "node:fs/promises";
import { expect } from "chai";
import { slices } from "../../src/events/all.ts";
import type { AnyEvent, Recorded } from "../../src/events/core/event.ts";
import { allProjections } from "../../src/projections/all.ts";
import { beforeEverything, readCheckpoints } from "../../src/projections/core/checkpoint.ts";
import type { Projection } from "../../src/projections/core/projection.ts";
import { history } from "../support/app/history.ts";
import { context, project, reset, rewind, rowsOf } from "../support/app/projection.ts";
import { testDatabase } from "../support/store/database.ts";

/** Categories of streams that are not named like the file of their events. */
const otherCategories: Readonly<Record<string, string>> = {
  "container/tag": "containerTag",
  "merge-request/approval-rule": "approval",
  "oauth/application": "oauthApplication",
  "oauth/authorization": "oauthAuthorization",
  "package/tag": "package",
  "package/version": "packageVersion",
  "project/child-claim": "holding",
  "registry/repository": "registryRepository",
  "registry/signing-key": "registrySigningKey",
  "webhook/delivery": "webhookDelivery",
  "webhook/log": "webhookLog",
};

const { db } = await testDatabase();
const log = await recordedExamples();

describe("all projections", () => {
  it("have names and tables of their own, in the order of their names", () => {
    const names = allProjections.map(({ name }) => name);
    const tables = allProjections.flatMap(({ tables: own }) => own.map((table) => table.name));
    expect(names).to.deep.equal([...new Set(names)].sort());
    expect(new Set(tables).size).to.equal(tables.length);
  });

  for (const projection of allProjections) {
    it(`give the same rows of ${projection.name} live, replayed on top, from empty and page by page`, async () => {
      await reset(db, projection);
      const seen: Recorded[] = [];
      let shown: readonly Recorded[] = [];
      for (const batch of oneByOne(projection, log)) {
        await project(db, projection, batch, context);
        seen.push(...batch);
        if ((await filled([projection])).size > 0) shown = [...seen];
      }
      expect(shown, "something to compare").not.to.deep.equal([]);
      await expectSameRows(projection, shown);
      if (shown.length < log.length) await expectSameRows(projection, log);
    });

    it(`keep ${projection.name} to its own tables`, async () => {
      await resetUsed();
      await project(db, projection, log, context);
      const others = allProjections.filter((other) => other !== projection);
      expect([...(await filled(others))], "other projections with rows").to.deep.equal([]);
      const moved = (await readCheckpoints(db)).filter(({ position }) => position >= 0n);
      expect(moved.map(({ name }) => name)).to.deep.equal([projection.name]);
    });
  }
});

async function expectSameRows(projection: Projection, events: readonly Recorded[]) {
  await reset(db, projection);
  for (const batch of oneByOne(projection, events)) await project(db, projection, batch, context);
  const live = await rowsOf(db, projection);

  await rewind(db, projection);
  await project(db, projection, events, context);
  expect(await rowsOf(db, projection), "on top").to.deep.equal(live);

  await reset(db, projection);
  await project(db, projection, events, context);
  expect(await rowsOf(db, projection), "from empty").to.deep.equal(live);

  await reset(db, projection);
  const half = events.length >> 1;
  for (const page of [events.slice(0, half), events.slice(half)]) {
    await project(db, projection, page, context);
  }
  expect(await rowsOf(db, projection), "page by page").to.deep.equal(live);
}

/** Resets every projection that has seen an event or has rows; making all tables anew takes long. */
async function resetUsed(): Promise<void> {
  const installed = new Map((await readCheckpoints(db)).map((row) => [row.name, row.position]));
  const withRows = await filled(allProjections.filter(({ name }) => installed.has(name)));
  for (const projection of allProjections) {
    const fresh = installed.get(projection.name) === beforeEverything;
    if (!fresh || withRows.has(projection.name)) await reset(db, projection);
  }
}

/** Names of those that have rows. One statement for all, as hundreds of tables are read for each projection. */
async function filled(projections: readonly Projection[]): Promise<ReadonlySet<string>> {
  const pairs = projections.flatMap(({ name, tables }) =>
    tables.map((table) => [name, table.name]),
  );
  if (pairs.length === 0) return new Set();
  const each = pairs.map(() => "select ?::text as name where exists (select from ??)");
  const bindings = pairs.flat();
  const { rows } = await db.raw<{ rows: { name: string }[] }>(each.join(" union all "), bindings);
  return new Set(rows.map(({ name }) => name));
}

/**
 * The events as they come while it is live: each that it handles in a transaction of its own, after
 * those before it that only move its checkpoint.
 */
function oneByOne({ types }: Projection, events: readonly Recorded[]): readonly Recorded[][] {
  const batches: Recorded[][] = [[]];
  for (const event of events) {
    batches.at(-1)?.push(event);
    if (types.has(event.type)) batches.push([]);
  }
  return batches.filter((batch) => batch.length > 0);
}

/** The frozen examples of every slice as one log, those of a slice thing by thing, and one of another application. */
async function recordedExamples(): Promise<readonly Recorded[]> {
  const written: (readonly [string, AnyEvent])[] = [];
  for (const slice of Object.keys(slices)) {
    const category = categoryOf(slice);
    const examples = JSON.parse(await readFile(`test/events/${slice}.json`, "utf8")) as AnyEvent[];
    let id = "00000000-0000-4000-8000-000000000001";
    for (const event of examples) {
      const own = event.data[`${category}Id`];
      if (typeof own === "string") id = own;
      written.push([`${category}-${id}`, event]);
    }
  }
  const [foreign] = history(["orders-1", { type: "Ordered", data: {} }]);
  const log = history(...written);
  const position = (log.at(-1)?.position ?? 0n) + 1n;
  return [...log, { ...(foreign as Recorded), position, isForeign: true }];
}

function categoryOf(slice: string): string {
  const name = slice.slice(slice.indexOf("/") + 1);
  const camelCase = name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  return otherCategories[slice] ?? camelCase;
}
