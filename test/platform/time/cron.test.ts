import { expect } from "chai";

import { CronError, checkCron, nextRun } from "../../../src/platform/time/cron.ts";

const now = new Date("2026-03-28T12:00:00.000Z");
const next = (cron: string, timezone = "UTC") => nextRun(cron, timezone, now)?.toISOString();

describe("a crontab expression", () => {
  it("names times in its time zone, across the change to summer time", () => {
    expect(next("0 3 * * *")).to.equal("2026-03-29T03:00:00.000Z");
    expect(next("0 4 * * *", "Europe/Berlin")).to.equal("2026-03-29T02:00:00.000Z");
    expect(next("0 3 * * *", "")).to.be.a("string");
    expect(next("0 4 * * 1", "America/New_York")).to.equal("2026-03-30T08:00:00.000Z");
  });

  it("runs once a day where the change of time leaves its hour out, or repeats it", () => {
    const runs = (cron: string, timezone: string, from: string) => {
      const first = nextRun(cron, timezone, new Date(from))!;
      const second = nextRun(cron, timezone, first)!;
      const third = nextRun(cron, timezone, second)!;
      return [first, second, third].map((at) => at.toISOString());
    };
    expect(runs("30 2 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z")).to.deep.equal([
      "2026-03-28T01:30:00.000Z",
      "2026-03-29T01:00:00.000Z",
      "2026-03-30T00:30:00.000Z",
    ]);
    expect(runs("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z")).to.deep.equal([
      "2026-10-25T00:30:00.000Z",
      "2026-10-26T01:30:00.000Z",
      "2026-10-27T01:30:00.000Z",
    ]);
    expect(runs("0 * * * *", "Europe/Berlin", "2026-10-24T23:30:00Z")).to.deep.equal([
      "2026-10-25T00:00:00.000Z",
      "2026-10-25T01:00:00.000Z",
      "2026-10-25T02:00:00.000Z",
    ]);
  });

  it("may name no time at all", () => {
    expect(nextRun("0 0 30 2 *", "UTC", now)).to.equal(null);
    expect(() => checkCron("0 0 30 2 *", "UTC", now)).to.throw(CronError, "never runs");
  });

  for (const [cron, timezone, message] of [
    ["0 3 * * *", "Mars/Olympus", "There is no time zone Mars/Olympus."],
    ["61 3 * * *", "UTC", "Invalid value for minute: 61."],
    ["x 3 * * *", "UTC", "Configuration entry 1 (x) contains illegal characters."],
  ] as const) {
    it(`is refused with a message of its own: ${message}`, () => {
      const refused = () => checkCron(cron, timezone, now);
      expect(refused).to.throw(CronError).with.property("message", message);
    });
  }

  for (const [what, cron, timezone] of [
    ["six fields", "0 0 3 * * *", "UTC"],
    ["a word", "0 3 * * sometimes", "UTC"],
    ["nothing", "", "UTC"],
    ["an unknown time zone", "0 3 * * *", "Mars/Olympus"],
    ["every minute", "* * * * *", "UTC"],
    ["every second minute", "*/2 * * * *", "UTC"],
    ["a very long text", `${"1,".repeat(100)}1 * * * *`, "UTC"],
  ] as const) {
    it(`is refused with ${what}`, () => {
      expect(() => checkCron(cron, timezone, now)).to.throw(CronError);
    });
  }

  it("may run every five minutes", () => {
    expect(() => checkCron("*/5 * * * *", "UTC", now)).not.to.throw();
  });
});
