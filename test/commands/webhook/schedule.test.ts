import { expect } from "chai";

import { attemptsMax, delayToNextAttemptMs } from "../../../src/commands/webhook/schedule.ts";

const delayAfter = (
  attempt: number,
  rest: Partial<Parameters<typeof delayToNextAttemptMs>[0]> = {},
) => delayToNextAttemptMs({ attempt, status: 500, retryAfterMs: null, jitter: 0, ...rest });

const secondMs = 1_000;
const hourMs = 3_600_000;

describe("the schedule of delivery attempts", () => {
  it("waits 5 s, 30 s, 2 min, 10 min, 1 h, 3 h and 8 h, then gives up", () => {
    const delays = Array.from({ length: 8 }, (_, index) => delayAfter(index + 1));
    expect(delays.map((delay) => delay && delay / secondMs)).to.deep.equal([
      5,
      30,
      120,
      600,
      3_600,
      3 * 3_600,
      8 * 3_600,
      undefined,
    ]);
    expect(attemptsMax).to.equal(8);
  });

  it("spreads each delay by a tenth at most", () => {
    expect(delayAfter(1, { jitter: 1 })).to.equal(5_500);
    expect(delayAfter(1, { jitter: -1 })).to.equal(4_500);
    expect(delayAfter(7, { jitter: 0.5 })).to.equal(8.4 * hourMs);
  });

  it("stops at once when the receiver is gone", () => {
    expect(delayAfter(1, { status: 410 })).to.equal(undefined);
    expect(delayAfter(1, { status: 404 })).to.equal(5_000);
    expect(delayAfter(1, { status: null })).to.equal(5_000);
  });

  it("waits as long as Retry-After requests, up to the next step's time", () => {
    expect(delayAfter(1, { retryAfterMs: 20_000 })).to.equal(20_000);
    expect(delayAfter(1, { retryAfterMs: 3_600_000 })).to.equal(30_000);
    expect(delayAfter(6, { retryAfterMs: 24 * hourMs })).to.equal(8 * hourMs);
    expect(delayAfter(7, { retryAfterMs: 24 * hourMs })).to.equal(8 * hourMs);
  });

  it("does not hurry because Retry-After is short", () => {
    expect(delayAfter(2, { retryAfterMs: 1_000 })).to.equal(30_000);
    expect(delayAfter(2, { retryAfterMs: 0 })).to.equal(30_000);
  });
});
