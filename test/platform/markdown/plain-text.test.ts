import { expect } from "chai";

import { plainText, withoutComments } from "../../../src/platform/markdown/plain-text.ts";
import { renderMarkdown } from "../../../src/platform/markdown/render.ts";
import { referencesIn } from "../../../src/platform/text-reference.ts";
import { expectLinear } from "../../support/app/growth.ts";
import { randomNumbers } from "../../support/app/random.ts";

/** Numbers that are read as text. */
const shown = (markdown: string): string =>
  referencesIn(plainText(markdown))
    .map(({ target }) => target)
    .join(" ");

describe("the plain text of Markdown", () => {
  const cases: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
    "code spans": [
      ["a `#1` #2", "#2"],
      ["`` a ` #1 `` #2 ` #3 `", "#2"],
      ["`#1", "#1"],
      ["`` #1 ` #2", "#1 #2"],
      ["` #1\n#2 ` #3", "#3"],
      ["` #1\r\n#2 ` #3", "#3"],
      ["` #1\n\n#2 `", "#1 #2"],
      ["\\` #1 `", "#1"],
      ["`a\\` #1 `", "#1"],
      ["\\`` #1 `", ""],
      ["# `#1` #2", "#2"],
      ["- ` #1\n- ` #2", "#1 #2"],
      ["a ` #1\n2. #2 `", ""],
      ["a ` #1\n*\n#2 `", ""],
      ["|`#1`|#2|\n|-|-|", "#2"],
    ],
    "fenced code": [
      ["```\n#1\n```\n#2", "#2"],
      ["~~~\n#1\n```\n~~\n#2\n~~~~\n#3", "#3"],
      ["````js #1\n#2\n```\n#3\n````\n#4", "#4"],
      ["``` #1 ` #2", "#1 #2"],
      ["```\n#1\n    ```\n#2\n   ```\n#3", "#3"],
      ["```\n#1\n``` x\n#2", ""],
      ["#1\n```\n#2\n```\n#3", "#1 #3"],
      ["- a\n  ```\n  #1\n\n  #2\n  ```\n  #3", "#3"],
      ["- ```\n  #1\n#2", "#2"],
      ["1. ~~~\n   #1\n2. #2", "#2"],
      ["```\r#1\r```\r#2", "#2"],
      ["~~~\r\n#1\r\n~~~\r\n#2", "#2"],
      ["> ```\n> #1\n#2", "#2"],
      ["> ~~~\n> #1\n> ~~~\n> #2", "#2"],
      ["> - ```\n>   #1\n>\n>   #2\n> #3", "#3"],
    ],
    "indented code": [
      ["    #1", ""],
      ["\t#1\n\n\t#2\n#3", "#3"],
      ["a\n    #1", "#1"],
      ["a\n\n    #1", ""],
      ["# a\n    #1", ""],
      ["a\n-\n    #1", ""],
      ["- a\n\n      #1\n\n  #2", "#2"],
      ["-     #1", ""],
      ["- a\n    #1", "#1"],
      ["10. a\n\n    #1\n\n        #2", "#1"],
      [">     #1\n>    #2", "#2"],
      ["> a\n    #1", "#1"],
      ["-\n\n    #1", ""],
      ["-\n  #1", "#1"],
      ["***\n    #1", ""],
      ["* * *\n    #1", ""],
    ],
    "HTML comments": [
      ["<!-- #1 -->", ""],
      ["<!-- #1 --> #2\n\n#3", "#2 #3"],
      ["a <!-- #1 --> #2", "#2"],
      ["a <!-- #1\n#2 --> #3", "#3"],
      ["<!-- #1\n\n#2\n-->\n#3", "#3"],
      ["- <!--\n  #1\n\n  #2\n  -->\n- #3", "#3"],
      ["<!-- #1\n\n#2", ""],
      ["a <!-- #1\n\n#2", "#1 #2"],
      ["\\<!-- #1 -->", "#1"],
      ["`<!--` #1 `-->`", "#1"],
      ["<!--> #1", "#1"],
      ["a <!---> #1 -->", "#1"],
      // A page does not show what follows either.
      ["<div>\n<!--\n\n#1\n\n-->\n#2\n</div>\n\n#3", ""],
      ["<div>\n<!--\n\n#1\n\n<b>\n-->\n</b>\n\n#2", "#2"],
      ["<details>\n#1 <!-- #2 --> `#3`\n</details>", "#1 #3"],
    ],
    "other HTML": [
      ["<pre>\n#1\n\n#2</pre>\n#3", "#3"],
      ["a <code>#1</code> <CODE>#2</Code> #3", "#3"],
      ["a <codec>#1</codec>", "#1"],
      ["<script>\n'#1'\n</script>\n#2", "#2"],
      ['<a title="#1">#2</a> <a title="`">#3</a> `', "#2 #3"],
      ["<b>#1</b> 3 < 4 #2", "#1 #2"],
      ['a <a title="x > #1">#2</a>', "#2"],
      ["<code>#1\n\n#2", "#2"],
      ["<details>\n<pre>\n\n#1\n\n#2\n</pre>\n\n#3", "#3"],
      ["<b>\n`#1`\n\n`#2`", "#1"],
      ["a\n<b>\n`#1`", ""],
      ["<?php #1 ?> <!X #2>\n\n#3", "#3"],
      ["a <![CDATA[ #1 ]]> #2", "#2"],
    ],
    "escaped signs": [
      ["\\#1 a/b\\!2 #3", "#3"],
      ["\\\\ #1", "#1"],
      ["a\\_b/c\\.d#1", "a_b/c.d#1"],
      ["&#35;1 &num;2 a&#47;b&#35;3 #4&nbsp;a/&#98;#5", "#4 a/b#5"],
    ],
    "what only looks like code": [
      ["1986\\. #1", "#1"],
      ["a ` #1\n1. #2 `", "#1 #2"],
      ["a\n> 2. ` #1\n> 3. ` #2", "#1 #2"],
      ["#1\n===\n#2\n---", "#1 #2"],
      ["> #1\nb\n> #2", "#1 #2"],
    ],
    "what is not marked up": [
      ["*Closes* **#1** _#2_ ~~#3~~", "#1 #2 #3"],
      ['[a #1](b#2 "#3") ![#4](c) [#5][d]\n\n[d]: e#6 "#7"', "#1 #4 #5"],
      ["# #1\n- [ ] #2\n\n|a|#3|\n|-|-|\n|`#4`|#5|", "#1 #2 #3 #5"],
      // As a page leaves out what is nested deeper than 50.
      [`#1\n\n${"> ".repeat(60)}#2`, "#1"],
    ],
  };
  for (const [kind, texts] of Object.entries(cases)) {
    for (const [markdown, expected] of texts) {
      it(`shows "${expected}" of ${kind} in ${JSON.stringify(markdown).slice(0, 60)}`, () => {
        expect(shown(markdown)).to.equal(expected);
      });
    }
  }

  it("does not let what it leaves out join what stands around it", () => {
    expect(plainText("Closes `a` #1, \\@anna and <b>bob</b>")).to.equal(
      "Closes \uFFFC #1, \uFFFCanna and  bob \n\n",
    );
  });
});

/** Numbers that a page shows outside of code. */
function rendered(markdown: string): string {
  const page = renderMarkdown(markdown, { directory: "", linkBase: "", imageBase: "" });
  const text = page
    .replaceAll(/<(pre|code)\b.*?<\/\1>/gs, "\uFFFC")
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">");
  return referencesIn(text)
    .map(({ target }) => target)
    .join(" ");
}

describe("what a page shows as text", () => {
  const pieces = [
    ...["`", "``", "```", "```", "~~~", "\n", "\n", "\n", "\n\n", "    ", "  ", " ", "> ", ">"],
    ...["- ", "-", "1. ", "2) ", "* ", "x", "x ", "# ", "===", "---", "***", "**", "[x](y)"],
    ...["<!--", "-->", "<b>", "</b>", "<div>\n", "</div>\n"],
  ];

  it("is what is read, of texts made at random", () => {
    const random = randomNumbers(20_261_129);
    for (let turn = 0; turn < 2_000; turn += 1) {
      let [text, number] = ["", 0];
      for (let length = 2 + random(14); length > 0; length -= 1) {
        const isNumber = random(5) === 0;
        if (isNumber) number += 1;
        text += isNumber ? ` #${number} ` : pieces[random(pieces.length)];
      }
      expect(shown(text), JSON.stringify(text)).to.equal(rendered(text));
    }
  });

  it("is read of any characters", () => {
    const random = randomNumbers(7);
    for (let turn = 0; turn < 1_000; turn += 1) {
      const codes = Array.from({ length: random(60) }, () => random(turn % 2 ? 128 : 65_536));
      const text = String.fromCharCode(...codes);
      expect(plainText(text)).to.be.a("string");
      expect(withoutComments(text)).to.be.a("string");
    }
  });
});

describe("Markdown without its comments", () => {
  for (const [markdown, expected] of [
    ["a\n\n<!-- Closes #3 -->\n\nb", "a\n\n\n\nb"],
    ["a <!-- #1 --> b <!-- #2\n#3 --> c", "a  b  c"],
    ["<!-- #1\n\n#2", ""],
    ["> <!-- #1\n> #2 -->\n> a", "> \n> a"],
    ["- a <!-- #1\n  #2 -->\n  b", "- a \n  b"],
    ["|a|<!-- #1 -->|\n|-|-|\n|<!-- #2 -->|b|", "|a||\n|-|-|\n||b|"],
    [
      "`<!-- a -->` <!-- b -->\n\n    <!-- c -->\n\n```\n<!-- d -->\n```",
      "`<!-- a -->` \n\n    <!-- c -->\n\n```\n<!-- d -->\n```",
    ],
    ["\\<!-- a --> `<!--` b <!-- c -->", "\\<!-- a --> `<!--` b "],
    ["<div>\n<!-- #1 -->a\n</div>", "<div>\na\n</div>"],
    ["a\r\nb", "a\r\nb"],
  ] as const) {
    it(`is ${JSON.stringify(expected)} of ${JSON.stringify(markdown)}`, () => {
      expect(withoutComments(markdown)).to.equal(expected);
    });
  }
});

describe("reading Markdown as text", () => {
  const starts: Readonly<Record<string, string>> = {
    "a\n": "> ".repeat(19),
    "[a]": "[a]: b\n\n",
  };
  for (const part of [
    ...["![", "[a][", "[*", "`", "``a`", "*a_", "<a ", "<!", "&", "1. a\n", "|", "<div>\n\n"],
    ...["[a](b)", "<!---->", "<!--", ...Object.keys(starts)],
  ]) {
    it(`takes time in proportion to a text of ${JSON.stringify(part)}`, () =>
      expectLinear(
        8_192,
        (length) => (starts[part] ?? "") + part.repeat(length / part.length),
        (text) => [plainText(text), withoutComments(text)],
      ));
  }

  it("takes time in proportion to code spans of different lengths", () =>
    expectLinear(
      8_192,
      (length) =>
        Array.from({ length: Math.sqrt(length) }, (_, index) => "`".repeat(index + 1)).join(" "),
      plainText,
    ));
});
