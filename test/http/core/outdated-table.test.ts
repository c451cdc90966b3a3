import { expect } from "chai";

import { labelProjection } from "../../../src/projections/label/label.ts";
import { dropUnfitTables } from "../../../src/projections/outdated-table.ts";
import { startTestApp } from "../../support/app/app.ts";
import { eventually } from "../../support/app/eventually.ts";
import { changeCheckpoints } from "../../support/app/projection.ts";

const app = await startTestApp();
const { db } = app.platform;
const anna = await app.givenUser("anna");
const { token } = anna;
await app.givenProject(anna, "forge");
const at = "/project/anna/forge/label";
const listed = () => app.get(at, { token });

/** As a start of this release finds them, or as the role of the read models leaves them then. */
const change = (columns: object) =>
  changeCheckpoints(db, (rows) => rows.where({ name: "label" }).update(columns));
const start = () => dropUnfitTables(db, [labelProjection]);

describe("a read model of an earlier version", () => {
  before(async () => {
    const body = { title: "bug", hexColor: "#cf222e" };
    expect((await app.post(at, { token, body })).status).to.equal(200);
  });

  it("answers from its table while that has every column of this release", async () => {
    const before = await listed();
    await change({ version: 1 });
    await start();
    expect((await listed()).body).to.deep.equal(before.body);
  });

  it("answers 503 while a column is missing, and as before once it is built again", async () => {
    const before = await listed();
    await change({ version: 1 });
    await db.raw("alter table label drop column hex_color");
    await start();
    const early = await listed();
    expect([early.status, early.body["code"]]).to.deep.equal([503, "projection.lagging"]);
    expect(early.headers.get("retry-after")).to.equal("1");

    await change({ state: "behind" });
    await eventually(async () => (await listed()).status === 200);
    expect((await listed()).body).to.deep.equal(before.body);
  });
});
