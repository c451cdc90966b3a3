import { expect } from "chai";

import { lineEvents } from "../../../../src/http/page/pipeline/live.ts";
import { linesPiece } from "../../../../src/http/page/pipeline/log.ts";
import { AnsiLines } from "../../../../src/platform/ansi.ts";
import { leastLongestTurnMs } from "../../../support/app/longest-turn.ts";

describe("the log of a job on its page", () => {
  it("shows so many lines of a part, and where the others are", async () => {
    const all = async (count: number) =>
      (await linesPiece(Array<string>(count).fill(""), 0, "/log")).markup;
    expect(await all(5_000))
      .to.contain('id="L5000"')
      .and.not.contain("more");
    const { length } = await all(500_000);
    expect(length).to.be.below(1024 ** 2);
    expect(await all(5_001))
      .to.contain('1 more line in the <a href="/log">')
      .and.not.contain("L5001");
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

  it("leaves the event loop to others in a part whose looks change at every character", async () => {
    const lines = Array<string>(58).fill("\u001b[1mx".repeat(1_900));
    const show = async () => void (await linesPiece(lines, 0, "/log"));
    expect(await leastLongestTurnMs(show)).to.be.below(60);
    const events = [...lineEvents(lines, { at: 0, line: 0 }, new AnsiLines())];
    expect(events.length).to.equal(Math.ceil(58 / 7));
  });

  it("folds sections, and joins lines that carry times, as gitlab-runner 19 writes them", async () => {
    const { markup } = await linesPiece(recorded, 0, "/log");
    expect(markup.match(/<summary>.*?<\/summary>/g)).to.deep.equal([
      '<summary><span class="f6 b">Preparing environment</span></summary>',
      '<summary><span class="f6 b">Executing the script</span></summary>',
    ]);
    expect(markup.match(/<\/details>/g)).to.have.length(2);
    expect(markup).to.contain('title="2026-11-23T13:44:26.579471Z"').and.contain(">a long line<");
    expect(markup).not.to.match(/section_|00O|01O|\+def/);
    expect(markup.match(/id="L\d+"/g)).to.deep.equal(
      ["L1", "L4", "L5", "L9", "L10", "L13"].map(idOf),
    );
  });

  it("folds sections whose marks stand in one line, as older runners write them", async () => {
    const marks =
      "section_end:1:a\r\u001b[0Ksection_start:1:b\r\u001b[0K\u001b[0K\u001b[36;1mSecond\u001b[0;m";
    const lines = [
      "section_start:1:a\r\u001b[0KFirst",
      "x",
      marks,
      "y",
      "section_end:2:b\r\u001b[0K",
    ];
    const { markup } = await linesPiece(lines, 0, "/log");
    expect(markup.match(/<summary>.*?<\/summary>/g)).to.deep.equal([
      "<summary>First</summary>",
      '<summary><span class="f6 b">Second</span></summary>',
    ]);
    expect(markup.match(/<\/details>/g)).to.have.length(2);
    expect(markup.match(/id="L\d+"/g)).to.deep.equal(["L2", "L4"].map(idOf));
  });

  it("shows the time of a line that is added, not in its text", () => {
    const [added] = lineEvents(recorded.slice(4, 5), { at: 99, line: 4 }, new AnsiLines());
    expect(added).to.contain("Running on vm").and.contain("25.952408Z").and.not.contain("01O");
  });
});

const idOf = (name: string) => `id="${name}"`;

/** Of a job of gitlab-runner 19.4, shortened. */
const recorded = [
  "2026-11-23T13:44:25.935789Z 00O \u001b[0KRunning with gitlab-runner 19.4.0\u001b[0;m",
  "2026-11-23T13:44:25.936153Z 00O section_start:1795441465:prepare_script\r\u001b[0K",
  "2026-11-23T13:44:25.936529Z 00O+\u001b[0K\u001b[36;1mPreparing environment\u001b[0;m\u001b[0;m",
  "2026-11-23T13:44:25.936530Z 00O \u001b[0K",
  "2026-11-23T13:44:25.952408Z 01O Running on vm...",
  "2026-11-23T13:44:25.970204Z 00O section_end:1795441465:prepare_script\r\u001b[0K",
  "2026-11-23T13:44:26.570593Z 00O+section_start:1795441466:step_script\r\u001b[0K",
  "2026-11-23T13:44:26.570598Z 00O+\u001b[0K\u001b[36;1mExecuting the script\u001b[0;m\u001b[0;m",
  "2026-11-23T13:44:26.579471Z 01O a long",
  "2026-11-23T13:44:26.579480Z 01E a warning",
  "2026-11-23T13:44:26.579490Z 01O+ line",
  "2026-11-23T13:44:27.581607Z 00O section_end:1795441467:step_script\r\u001b[0K",
  "2026-11-23T13:44:27.710312Z 00O \u001b[32;1mJob succeeded\u001b[0;m",
];
