import { expect } from "chai";

import { asCaller } from "../../src/platform/caller.ts";
import { Highlighter } from "../../src/platform/highlight.ts";
import { escapeHtml, htmlLines } from "../../src/platform/highlight-html.ts";

const highlighter = new Highlighter(20_000);

const textOf = (html: string): string =>
  html
    .replaceAll(/<[^>]*>/g, "")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#x27;", "'")
    .replaceAll("&amp;", "&");

describe("colouring a text", () => {
  it("is by the name of the file", async () => {
    const [line] = (await highlighter.lines("const a = 1;", "A.TS")) ?? [];
    expect(line).to.contain('<span class="hljs-keyword">const</span>');
    expect((await highlighter.lines("FROM a", "Dockerfile"))?.[0]).to.contain("hljs-keyword");
    for (const name of ["notes", "a.unknown", "constructor", "__proto__", "a.toString", ""]) {
      expect(await highlighter.lines("const a = 1;", name), name).to.equal(null);
    }
  });

  it("is for one caller only so often at a time", async () => {
    const one = () => highlighter.lines("let a;", "a.js");
    const flood = Array.from({ length: 9 }, () => asCaller("anna", one));
    const other = asCaller("bob", one);
    const made = (await Promise.all(flood)).map((lines) => lines !== undefined);
    expect(made).to.deep.equal([...Array<boolean>(8).fill(true), false]);
    expect(await other).to.have.lengthOf(1);
    expect(await asCaller("anna", one)).to.have.lengthOf(1);
  });

  it("goes on over lines, each of which is whole by itself", async () => {
    const lines = (await highlighter.lines("/* one\ntwo\n*/ let a;\n", "a.js")) ?? [];
    expect(lines).to.have.lengthOf(4);
    for (const index of [0, 1, 2]) expect(lines[index]).to.contain("hljs-comment");
    for (const line of lines) {
      expect(line.split("<span").length).to.equal(line.split("</span>").length);
    }
  });

  it("escapes everything and changes nothing else", async () => {
    const hostile = [
      '<script>alert("1")</script>',
      "`</span><img src=x onerror=alert(1)>`",
      "// &lt;b&gt; \u0000 \u001b[31m \u202e",
      "a < b && c > d\r",
      "",
    ];
    for (const name of ["a.js", "a.html", "a.md", "a.php", "a.xml", "a.sh", "a.txt"]) {
      const lines = await highlighter.lines(hostile.join("\n"), name);
      expect(lines?.map(textOf), name).to.deep.equal(hostile);
      expect(lines?.join("\n").replaceAll(/<\/?span[^<>]*>/g, "")).not.to.match(/[<>]/);
    }
  });

  it("is left out for texts that are too large, and for none", async () => {
    expect(await highlighter.lines("", "a.js")).to.equal(null);
    expect(await highlighter.lines("a\n".repeat(300_000), "a.js")).to.equal(null);
    expect(await highlighter.lines(`a\n${"x".repeat(10_001)}`, "a.js")).to.equal(null);
  });

  it("gives up after a time, and goes on with the next", async () => {
    const hasty = new Highlighter(1);
    const slow = "a = [\n".repeat(50_000);
    const [first, second] = await Promise.all([
      hasty.lines(slow, "a.js"),
      hasty.lines(slow, "b.js"),
    ]);
    expect([first, second]).to.deep.equal([undefined, undefined]);
  });

  it("turns away more than a line of waiters", async () => {
    const busy = new Highlighter(20_000);
    const all = await Promise.all(
      Array.from({ length: 80 }, (_, index) => busy.lines(`let a = ${index};`, "a.js")),
    );
    expect(all.filter((lines) => lines === undefined).length).to.be.within(1, 20);
    expect(all[0]?.[0]).to.contain("hljs-keyword");
  });
});

describe("HTML by lines", () => {
  it("closes and opens nested spans at each newline", () => {
    expect(htmlLines('<span class="a">1<span class="b">2\n3</span>4</span>\n5')).to.deep.equal([
      '<span class="a">1<span class="b">2</span></span>',
      '<span class="a"><span class="b">3</span>4</span>',
      "5",
    ]);
  });

  it("has no markup in a text that is escaped", () => {
    expect(escapeHtml(`<a href="x" title='y'>&</a>`)).to.equal(
      "&lt;a href=&quot;x&quot; title=&#x27;y&#x27;&gt;&amp;&lt;/a&gt;",
    );
  });
});
