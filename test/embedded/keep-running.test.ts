import { expect } from "chai";

import { type Backoff, keepRunning, type Running } from "../../src/embedded/keep-running.ts";
import { eventually } from "../support/app/eventually.ts";

const backoff: Backoff = {
  minMs: 20,
  maxMs: 80,
  failuresMax: 4,
  firstFailuresMax: 4,
  soundMs: 60_000,
};

/** Something that runs until the test ends it. */
class Thing implements Running {
  closed = 0;
  end: () => void = () => undefined;
  readonly exited = new Promise<void>((resolve) => {
    this.end = resolve;
  });
  readonly close = async (): Promise<void> => {
    this.closed += 1;
    this.end();
  };
}

describe("keeping something running", () => {
  let things: Thing[];
  let starts: number[];
  let reports: string[];
  let failing: number;
  /** What a start waits for. */
  let gate: Promise<void>;
  beforeEach(() => {
    [things, starts, reports, failing] = [[], [], [], 0];
    gate = Promise.resolve();
  });

  const keep = (options: Partial<Backoff> = {}) =>
    keepRunning<Thing>({
      name: "thing",
      report: (text) => reports.push(text),
      backoff: { ...backoff, ...options },
      start: async (previous) => {
        starts.push(performance.now());
        await gate;
        expect(previous).to.equal(things.at(-1));
        if (failing > 0) {
          failing -= 1;
          throw new Error("does not come up");
        }
        things.push(new Thing());
        return things.at(-1)!;
      },
    });

  it("starts it again when it ends, and logs it", async () => {
    const kept = await keep();
    things[0]!.end();

    await eventually(() => things.length === 2);
    await eventually(() => kept.current() === things[1]);
    expect(reports).to.deep.equal(["thing ended, starting it again", "thing runs again"]);
    await kept.close();
    expect(things.map(({ closed }) => closed > 0)).to.deep.equal([false, true]);
  });

  it("waits longer after every failure in a row", async () => {
    const round = async (): Promise<void> => {
      [starts, failing] = [[], 3];
      const kept = await keep();
      await kept.close();
      things.pop();
      const pauses = starts.slice(1).map((at, index) => at - starts[index]!);
      expect(pauses[0]).to.be.at.least(19);
      expect(pauses[1]).to.be.at.least(39);
      expect(pauses[2]).to.be.at.least(79);
    };
    // A timer runs from when its turn began: one that waited for the processor seems to be short.
    await eventually(() => round().then(() => true));
  });

  it("does not come up when the first start fails too often, with the last error", async () => {
    failing = 2;
    await expect(keep({ firstFailuresMax: 2 })).to.be.rejectedWith("does not come up");
    expect(starts).to.have.length(2);
  });

  it("does not give up on what keeps ending while it comes back", async () => {
    const kept = await keep({ minMs: 1, maxMs: 1 });
    for (let round = 1; round <= 2 * backoff.failuresMax; round += 1) {
      await eventually(() => things.length === round && kept.current() === things.at(-1));
      things.at(-1)!.end();
    }
    await eventually(() => things.length === 2 * backoff.failuresMax + 1);
    await kept.close();
  });

  it("gives up on what does not come up any more", async () => {
    const kept = await keep({ minMs: 1, maxMs: 1 });
    failing = Number.POSITIVE_INFINITY;
    things[0]!.end();
    await expect(kept.givenUp).to.be.rejectedWith("does not come up");
    expect(starts).to.have.length(1 + backoff.failuresMax);
    await kept.close();
  });

  it("forgives earlier failures to what has run long enough", async () => {
    const kept = await keep({ soundMs: 0 });
    for (let round = 1; round <= 6; round += 1) {
      await eventually(() => things.length === round && kept.current() === things.at(-1));
      things.at(-1)!.end();
    }
    await eventually(() => things.length === 7);
    await kept.close();
  });

  it("starts nothing more once closed, also when closed during a pause", async () => {
    const kept = await keep({ minMs: 10_000, maxMs: 10_000 });
    things[0]!.end();
    await eventually(() => reports.length === 1);

    await kept.close();

    expect(starts).to.have.length(1);
  });

  it("ends what comes up again while it is being closed", async () => {
    const kept = await keep();
    let open = (): void => undefined;
    gate = new Promise((resolve) => {
      open = resolve;
    });
    things[0]!.end();
    await eventually(() => starts.length === 2);

    const closed = kept.close();
    open();
    await closed;

    expect(things.map(({ closed }) => closed > 0)).to.deep.equal([true, true]);
    expect(reports).to.deep.equal(["thing ended, starting it again"]);
  });
});
