import { expect } from "chai";

import { openLog } from "../../src/platform/log.ts";

describe("the log", () => {
  const lines: string[] = [];
  const log = openLog("info", "test", { write: (line) => lines.push(line) });
  beforeEach(() => {
    lines.length = 0;
  });

  it("writes a line of JSON with time, level, role and process", () => {
    log.info({ requestId: "r1" }, "answered");

    const line = JSON.parse(lines[0]!) as Record<string, unknown>;
    expect(line).to.include({ level: "info", role: "test", pid: process.pid, requestId: "r1" });
    expect(line["time"]).to.match(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    expect(lines[0]!.endsWith("}\n")).to.equal(true);
  });

  it("writes nothing below its level", () => {
    log.debug("detail");
    expect(lines).to.deep.equal([]);
  });

  for (const object of [
    { token: "hunter2" },
    { headers: { authorization: "hunter2", cookie: "hunter2" } },
    { request: { body: { password: "hunter2" } } },
    { job: { data: { hook: { secret: "hunter2" } } } },
    { headers: { "set-cookie": ["hunter2", "hunter2"] } },
    { token: 'a"quoted\\"hunter2' },
    { config: { databaseUrl: "hunter2", secretKey: "hunter2" } },
  ]) {
    it(`keeps secrets out: ${JSON.stringify(object)}`, () => {
      log.error(object, "failed");
      expect(lines[0]).to.include("[secret]");
      expect(lines[0]).to.not.include("hunter2");
    });
  }

  for (const object of [
    { path: "/a".repeat(5_000) },
    { err: new Error("a".repeat(5_000)) },
    { job: { list: ["\u0001".repeat(5_000)] } },
    { path: `${"a".repeat(2_047)}\ud83d\ude00` },
    { path: '"\\'.repeat(5_000) },
  ]) {
    it(`cuts long texts: ${JSON.stringify(object).slice(0, 30)}…`, () => {
      log.error(object, "b".repeat(5_000));
      const texts = textsIn(JSON.parse(lines[0]!));
      expect(texts.filter((text) => text.length > 2_049)).to.deep.equal([]);
      expect(texts.filter((text) => text.endsWith("…")).length).to.be.at.least(2);
      expect(lines[0]!.isWellFormed()).to.equal(true);
    });
  }

  it("leaves texts of two kibibytes and numbers of any size as they are", () => {
    log.info(
      { position: 2n ** 60n, path: "a".repeat(2_048), other: "b".repeat(3_000) },
      "answered",
    );
    expect(lines[0]).to.include(`"position":${2n ** 60n},"path":"${"a".repeat(2_048)}"`);
  });

  for (const [name, object] of Object.entries({
    "after a long text": { path: "a".repeat(5_000), token: "hunter2" },
    "in a list with brackets": { "set-cookie": ["a]hunter2", "hunter2"], other: 1 },
    "in names of any case": { Token: "hunter2", headers: { AUTHORIZATION: "hunter2" } },
    "in an address that is cut": { url: `${"a".repeat(2_030)}://u:hunter2hunter2hunter2@host` },
  })) {
    it(`keeps secrets out ${name}`, () => {
      log.error(object, "failed");
      expect(lines[0]).to.not.include("hunt");
      expect(() => JSON.parse(lines[0]!)).to.not.throw();
    });
  }

  it("keeps passwords of addresses out, also inside errors", () => {
    log.error({ err: new Error("cannot reach postgres://ledger:hunter2@db:5432/x") }, "failed");
    expect(lines[0]).to.include("postgres://ledger:[secret]@db");
    expect(lines[0]).to.not.include("hunter2");
  });
});

function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
