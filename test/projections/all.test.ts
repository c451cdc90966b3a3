import { readFile } from "node:fs/promises";
import { expect } from "chai";
import { slices } from "../../src/events/all.ts";
import type { AnyEvent, Recorded } from "../../src/events/event.ts";
import { allProjections } from "../../src/projections/all.ts";
import { readCheckpoints } from "../../src/projections/checkpoint.ts";
import { type Projection, project } from "../../src/projections/projection.ts";
import { testDatabase } from "../support/database.ts";
import { history } from "../support/history.ts";
import { context, reset, rewind, rowsOf } from "../support/projection.ts";

const { db } = await testDatabase();
const log = await recordedExamples();

describe("all projections", () => {
  it("have names and tables of their own, in the order of their names", () => {
    const names = allProjections.map(({ name }) => name);
    const tables = allProjections.flatMap((projection) => projection.tables);
    expect(names).to.deep.equal([...new Set(names)].sort());
    expect(new Set(tables).size).to.equal(tables.length);
  });

  for (const projection of allProjections) {
    it(`give the same rows of ${projection.name} live, replayed on top and from empty`, async () => {
      await reset(db, projection);
      let shown: readonly Recorded[] = [];
      for (const [index, event] of log.entries()) {
        await project(db, projection, [event], context);
        const rows = Object.values(await rowsOf(db, projection)).flat();
        if (rows.length > 0) shown = log.slice(0, index + 1);
      }
      expect(shown, "something to compare").not.to.deep.equal([]);
      await expectSameRows(projection, shown);
      await expectSameRows(projection, log);
    });

    it(`keep ${projection.name} to its own tables`, async () => {
      for (const other of allProjections) await reset(db, other);
      await project(db, projection, log, context);
      for (const other of allProjections) {
        if (other === projection) continue;
        expect(Object.values(await rowsOf(db, other)).flat(), other.name).to.deep.equal([]);
      }
      const moved = (await readCheckpoints(db)).filter(({ position }) => position >= 0n);
      expect(moved.map(({ name }) => name)).to.deep.equal([projection.name]);
    });
  }
});

async function expectSameRows(projection: Projection, events: readonly Recorded[]) {
  await reset(db, projection);
  for (const event of events) await project(db, projection, [event], context);
  const live = await rowsOf(db, projection);

  await rewind(db, projection);
  await project(db, projection, events, context);
  expect(await rowsOf(db, projection), "on top").to.deep.equal(live);

  await reset(db, projection);
  await project(db, projection, events, context);
  expect(await rowsOf(db, projection), "from empty").to.deep.equal(live);
}

/** The frozen examples of every slice as one log, each slice's told of one thing after another. */
async function recordedExamples(): Promise<readonly Recorded[]> {
  const written: (readonly [string, AnyEvent])[] = [];
  for (const slice of Object.keys(slices)) {
    const category = slice.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
    const examples = JSON.parse(await readFile(`test/events/${slice}.json`, "utf8")) as AnyEvent[];
    let id = "00000000-0000-4000-8000-000000000001";
    for (const event of examples) {
      const own = event.data[`${category}Id`];
      if (typeof own === "string") id = own;
      written.push([`${category}-${id}`, event]);
    }
  }
  return history(...written);
}
