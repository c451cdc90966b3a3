import { expect } from "chai";

import { lineEvents } from "../../../../src/http/site/pipeline/live.ts";
import { linesPiece } from "../../../../src/http/site/pipeline/log.ts";
import { AnsiLines } from "../../../../src/platform/ansi.ts";

describe("the log of a job on its page", () => {
  it("shows so many lines of a part, and where the others are", () => {
    const all = (count: number) => linesPiece(Array<string>(count).fill(""), 0, "/log").markup;
    expect(all(5_000)).to.contain('id="L5000"').and.not.contain("more");
    const { length } = all(500_000);
    expect(length).to.be.below(1024 ** 2);
    expect(all(5_001)).to.contain('1 more line in the <a href="/log">').and.not.contain("L5001");
  });

  it("grows by events of so many lines, each with the place to go on from", () => {
    const lines = ["ä", ...Array<string>(2_000).fill("a")];
    const bytes = 3 + 2 * 2_000;
    const events = [...lineEvents(lines, { at: 10 + bytes, line: 7 }, new AnsiLines())];
    const ids = events.map((each) => /^id: (.*)\n/.exec(each)?.[1]);
    const second = 10 + 3 + 2 * 1_999;
    expect(ids).to.deep.equal([`${10 + 3 + 2 * 999}-1007`, `${second}-2007`, `${10 + bytes}-2008`]);
    expect(events[2]).to.contain("L2008").and.not.contain("L2007");
  });
});
