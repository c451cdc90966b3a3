import { expect } from "chai";

import { StillTime } from "../../../src/platform/event-loop/still-time.ts";

const tickMs = 100;

/** What the last tick gives, when the clock, the heartbeat and the wait for a processor were these. */
function stillMs(looks: readonly (readonly [at: number, beats: number, waitedMs?: number])[]) {
  const still = new StillTime(tickMs);
  let last = 0;
  for (const [at, beats, waited = 0] of looks) {
    last = still.tick({ at, beats, waitedMs: () => waited });
  }
  return last;
}

describe("the time that a loop stands still", () => {
  const stands = [
    [100, 1],
    [200, 1],
    [300, 1],
  ] as const;

  it("grows by each tick without a heartbeat, and ends with the next one", () => {
    expect(stillMs(stands)).to.equal(200);
    expect(stillMs([...stands, [400, 2]])).to.equal(0);
    expect(stillMs([...stands, [400, 2], [500, 2]])).to.equal(100);
  });

  it("counts a tick that comes late as one tick", () => {
    expect(stillMs([...stands, [60_000, 1]])).to.equal(300);
  });

  it("omits the time in which the thread waited for a processor", () => {
    const waits = [
      [100, 1],
      [200, 1, 5],
      [300, 1, 95],
      [400, 1, 155],
    ] as const;
    // Nothing is known of the time before the first look that found no heartbeat.
    expect(stillMs(waits)).to.equal(100 + (100 - 90) + (100 - 60));
  });
});
