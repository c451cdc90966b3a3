import { spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { text } from "node:stream/consumers";
import { expect } from "chai";
import { openApi } from "../../src/http/api/openapi/openapi.ts";
import { routes } from "../../src/http/routes.ts";
import { build, program } from "../support/app/service.ts";
import { append, sent } from "../support/package/parcel.ts";
import { testDatabase } from "../support/store/database.ts";
import { testEventStore } from "../support/store/event-store.ts";

const { url: databaseUrl, db } = await testDatabase();
const { url: eventStoreUrl, store } = await testEventStore();

const environment = {
  ...process.env,
  DATABASE_URL: databaseUrl,
  EVENTSTORE_URL: eventStoreUrl,
  SECRET_KEY: "a secret key of more than enough characters",
  DATA_DIR: tmpdir(),
  LOG_LEVEL: "silent",
};

type Ran = Readonly<{ code: number; out: string; err: string }>;

/** Runs the program as a user at a terminal does. */
async function ledgerforge(...args: readonly string[]): Promise<Ran> {
  build();
  const child = spawn(process.execPath, [program, ...args], {
    env: environment,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [[code], out, err] = await Promise.all([
    once(child, "exit"),
    text(child.stdout),
    text(child.stderr),
  ]);
  return { code: Number(code), out, err };
}

describe("commands of the operator", () => {
  before(async () => {
    for (let n = 0; n < 3; n += 1) await append(store, "parcel-1", sent(`${n}`));
    await ledgerforge("rebuild");
  });

  it("rebuild all read models and find them equal", async () => {
    const { code, out, err } = await ledgerforge("rebuild", "--verify");
    expect(code, err).to.equal(0);
    expect(out).to.match(/^Rebuilt access_token, .*audit_entry, .* from 3 events in /);
    expect(out).to.include("equal   audit_entry, 3 rows\n");
    expect(err).to.include("100.0 % ");
  });

  it("rebuild one, and say when it was not equal", async () => {
    await db("audit_entry").update({ type: "Nothing" });
    const { code, out } = await ledgerforge("rebuild", "audit_entry", "--verify");
    expect([code, out.split("\n")[1]]).to.deep.equal([1, "  DIFFERS audit_entry, 3 rows"]);
    expect(await db("audit_entry").distinct("type").pluck("type")).to.deep.equal(["ParcelSent"]);
  });

  it("refuse to rebuild what there is not", async () => {
    const { code, err } = await ledgerforge("rebuild", "parcel");
    expect([code, err.split(";")[0]]).to.deep.equal([64, "No read model named parcel"]);
  });

  it("show the audit trail as text and as JSON", async () => {
    const asText = await ledgerforge("audit");
    expect(asText.out.split("\n")[1]).to.match(
      /^2026.* {2}system {2}ParcelSent parcel-1 {2}to: 1$/,
    );
    const asJson = await ledgerforge("audit", "--json", "--since", "2026-01-01");
    const lines = asJson.out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.map(({ changes }) => changes[0].after)).to.deep.equal(["0", "1", "2"]);
  });

  it("name a project, a user or a day that there is not", async () => {
    for (const args of [
      ["--project", "a/b"],
      ["--user", "nobody"],
      ["--since", "yesterday"],
    ]) {
      const { code, err } = await ledgerforge("audit", ...args);
      expect([code, err.trim().split("\n").length], err).to.deep.equal([78, 1]);
    }
    const { code, err } = await ledgerforge("audit", "--nonsense");
    expect(code, err).to.equal(64);
  });

  it("verify the log against itself and against a mark kept elsewhere", async () => {
    const { code, out } = await ledgerforge("audit", "verify");
    const mark = out.split("\n")[1]!;
    expect([code, out.split("\n")[0]]).to.deep.equal([0, "The log is unchanged: 3 events."]);
    expect((await ledgerforge("audit", "verify", "--expect", mark)).code).to.equal(0);
    const other = `2:${mark.slice(2)}`;
    const differing = await ledgerforge("audit", "verify", "--expect", other);
    expect([differing.code, differing.err]).to.deep.equal([
      1,
      "The log was changed: the first 2 events agree with the tree, but not with the mark.\n",
    ]);
  });

  it("print the OpenAPI document", async () => {
    const { code, out } = await ledgerforge("openapi");
    const expected = `${JSON.stringify(openApi(routes), null, 2)}\n`;
    // Compared as a whole: a difference of thousands of lines would say nothing more.
    expect([code, out === expected]).to.deep.equal([0, true]);
  });

  it("export the log as lines of JSON", async () => {
    const { out } = await ledgerforge("events", "export");
    const lines = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.map(({ revision, data }) => [revision, data.to])).to.deep.equal([
      ["0", "0"],
      ["1", "1"],
      ["2", "2"],
    ]);
  });
}).timeout(600_000);
