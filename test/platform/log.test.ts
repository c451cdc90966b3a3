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

  it("keeps passwords of addresses out, also inside errors", () => {
    log.error({ err: new Error("cannot reach postgres://ledger:hunter2@db:5432/x") }, "failed");
    expect(lines[0]).to.include("postgres://ledger:[secret]@db");
    expect(lines[0]).to.not.include("hunter2");
  });
});
