import { expect } from "chai";
import { duration, progressView } from "../../src/cli/progress.ts";

function output(isTTY: boolean) {
  const written: string[] = [];
  return { isTTY, written, write: (text: string) => written.push(text) };
}

const half = { position: 500n, head: 1_000n, events: 500, elapsedMs: 2_000 };

describe("the progress of a rebuild", () => {
  it("is a bar drawn over itself on a terminal, with pace and time left", () => {
    const terminal = output(true);
    const view = progressView(terminal, () => 0);
    view.show(half);
    view.end();
    expect(terminal.written[0]).to.equal(
      "\r\x1b[K[###############...............] " +
        "50.0 % (500 of 1000), 250 events/s, 2.0 s left",
    );
    expect(terminal.written.at(-1)).to.equal("\n");
  });

  it("is a line now and then elsewhere, and the last state in the end", () => {
    const file = output(false);
    let now = 0;
    const view = progressView(file, () => now);
    for (; now < 5_000; now += 100) view.show({ ...half, position: BigInt(now / 10) });
    view.show({ ...half, position: 1_000n, events: 1_000 });
    view.end();
    expect(file.written).to.have.length(4);
    expect(file.written.at(-1)).to.equal("100.0 % (1000 of 1000), 500 events/s, 0.0 s left\n");
  });

  it("shows that no event was reached yet", () => {
    for (const isTTY of [true, false]) {
      const shown = output(isTTY);
      progressView(shown, () => 0).show({ ...half, position: -1n, head: 3n, events: 0 });
      expect(shown.written.join("")).to.match(
        /(?:\[\.{30}\] )?0\.0 % \(none of 3\), 0 events\/s\n?$/,
      );
    }
  });

  it("says nothing of an empty log", () => {
    const file = output(false);
    progressView(file).end();
    expect(file.written).to.deep.equal([]);
  });

  it("writes durations as people do", () => {
    expect([0.04, 12.4, 61, 119.7, 3_720].map(duration)).to.deep.equal([
      "0.0 s",
      "12 s",
      "1 min 1 s",
      "1 min 59 s",
      "1 h 2 min",
    ]);
  });
});
