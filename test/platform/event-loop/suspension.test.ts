import { expect } from "chai";

import {
  learnKills,
  suspendedForMs,
  suspensions,
} from "../../../src/platform/event-loop/suspension.ts";

const minuteMs = 60_000;
const running = { name: "createIssue", caller: "user-1" };
const killAt = (minute: number, of = running) => ({
  at: minute * minuteMs,
  role: "http",
  running: of,
});
const untilMinutes = (...kills: readonly ReturnType<typeof killAt>[]): readonly number[] =>
  [...suspensions(kills).values()].map((until) => until / minuteMs);

describe("the suspension of operations", () => {
  after(() => learnKills([]));

  it("begins with the second kill within an hour and lasts ten minutes", () => {
    expect(untilMinutes(killAt(100))).to.deep.equal([]);
    expect(untilMinutes(killAt(100), killAt(120))).to.deep.equal([130]);
    expect(untilMinutes(killAt(100), killAt(120), killAt(131))).to.deep.equal([141]);
    expect(untilMinutes(killAt(100), killAt(161))).to.deep.equal([]);
  });

  it("counts kills of one operation of one caller", () => {
    const others = [
      { ...running, caller: "user-2" },
      { ...running, name: "getIssue" },
    ];
    expect(untilMinutes(killAt(1), ...others.map((of) => killAt(2, of)))).to.deep.equal([]);
  });

  it("ends by itself", () => {
    learnKills([killAt(1), killAt(2)]);
    expect(suspendedForMs(running, 11 * minuteMs)).to.equal(minuteMs);
    expect(suspendedForMs(running, 12 * minuteMs)).to.equal(0);
    expect(suspendedForMs({ ...running, caller: "user-2" }, 11 * minuteMs)).to.equal(0);
  });
});
