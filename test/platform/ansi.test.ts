import { expect } from "chai";

import { AnsiLines } from "../../src/platform/ansi.ts";

const line = (text: string): string => new AnsiLines().line(text);

describe("AnsiLines", () => {
  for (const [text, html] of [
    ["plain <b>", "plain &lt;b&gt;"],
    ["\u001b[31mred\u001b[0m end", '<span class="f1">red</span> end'],
    ["\u001b[1;32mok\u001b[22m soft", '<span class="f2 b">ok</span><span class="f2"> soft</span>'],
    ["\u001b[38;5;196mx\u001b[m", '<span class="f1">x</span>'],
    ["\u001b[38;2;0;200;0mx", '<span class="f2">x</span>'],
    ["\u001b[48;5;196mx", "x"],
    ["10%\r50%\r100%\r", "100%"],
    ["\u001b[2J\u001b[10;10Hx\u001b[0K", "x"],
    ["\u001b]0;title\u0007x", "x"],
    ["\u001b]8;;javascript:alert(1)\u001b\\x\u001b]8;;\u001b\\", "x"],
    ["a\u0000\u0008b\u009b31mc", "ab31mc"],
    ["\u001b", ""],
  ] as const) {
    it(`shows ${JSON.stringify(text)}`, () => expect(line(text)).to.equal(html));
  }

  it("keeps colours from one line to the next", () => {
    const lines = new AnsiLines();
    lines.line("\u001b[31mred");
    expect(lines.line("still")).to.equal('<span class="f1">still</span>');
  });

  it("makes little of a line full of sequences", () => {
    expect(line("\u001b[1m\u001b[31m".repeat(500_000))).to.equal("…");
    expect(line("\u001b[31mx".repeat(500_000)).length).to.be.lessThan(60_000);
    expect(line(`\u001b[${"1;".repeat(500_000)}m`).length).to.be.lessThan(20_000);
  });
});
