import { expect } from "chai";

import {
  mentionsIn,
  referencesIn,
  referencesInMarkdown,
} from "../../src/platform/text-reference.ts";
import { expectLinear } from "../support/app/growth.ts";

const hash = "9fceb02d0ae598e95dc970b74767f19372d61af8";
const targets = (text: string) => referencesIn(text).map(({ target }) => target);
const closed = (text: string) =>
  referencesIn(text).flatMap(({ target, closes }) => (closes ? [target] : []));

describe("references in a text", () => {
  for (const [text, expected] of [
    ["See #12 and !7.", ["#12", "!7"]],
    ["(#1), [#2] **#3** #4", ["#1", "#2", "#3", "#4"]],
    ["#12 again #12", ["#12"]],
    ["anna/forge#5, Anna/for.ge!6", ["anna/forge#5", "Anna/for.ge!6"]],
    [`as in ${hash}, not ${hash.slice(0, 12)}`, [hash]],
    [`${hash}${hash.slice(0, 24)}`, [`${hash}${hash.slice(0, 24)}`]],
    [`x${hash} ${hash}0 ${hash.toUpperCase()}`, []],
    ["#0 #012 #x # 5 &#39; a#5 ##6 #7a https://example.org/a#8", []],
    ["#12345678901", []],
    ["", []],
  ] as const) {
    it(`are ${JSON.stringify(expected)} in "${text.slice(0, 50)}"`, () => {
      expect(targets(text)).to.deep.equal(expected);
    });
  }

  for (const [text, expected] of [
    ["Closes #1", ["#1"]],
    ["close #1 closed #2 closing #3", ["#1", "#2", "#3"]],
    ["Fix #1, fixes #2; FIXED #3 fixing #4", ["#1", "#2", "#3", "#4"]],
    ["resolve #1 resolves #2 resolved #3", ["#1", "#2", "#3"]],
    ["Implements #1", ["#1"]],
    ["Fixes: #1, #2 and #3, and #4", ["#1", "#2", "#3", "#4"]],
    ["Closes issue #1. See #2", ["#1"]],
    ["Closes #1, see #2", ["#1"]],
    ["Closes anna/forge#5", ["anna/forge#5"]],
    ["Closes !7", []],
    ["Closes #17 #18", ["#17", "#18"]],
    ["Closes #17, #18 and #19 & #20", ["#17", "#18", "#19", "#20"]],
    ["*Fixes* #9, __Closes__: #8", ["#9", "#8"]],
    ["Closes [#10], (#11) and [#12](x)", ["#10", "#11", "#12"]],
    ["Closes (#11). See (#13)", ["#11"]],
    ["Closes #1\n#2", ["#1"]],
    ["Closes GH-12", []],
    ["un_fix #3", []],
    ["encloses #1, prefix #2, closest #3", []],
    ["closes\n\n#1", []],
    ["#1 is named before Closes #1", ["#1"]],
  ] as const) {
    it(`close ${JSON.stringify(expected)} in "${text}"`, () => {
      expect(closed(text)).to.deep.equal(expected);
    });
  }

  it("are also the addresses of issues and merge requests of this very service", () => {
    const url = "https://forge.example:8443";
    const at = `${url}/project/anna/forge`;
    const text = `Closes ${at}/issue/6, ${at}/issue/7#note, see ${at}/merge-request/8 (${at}/issue/9)`;
    expect(referencesIn(text, url)).to.deep.equal([
      { target: "anna/forge#6", closes: true },
      { target: "anna/forge#7", closes: true },
      { target: "anna/forge!8", closes: false },
      { target: "anna/forge#9", closes: false },
    ]);
    const others = `Closes https://other.example/project/anna/forge/issue/6 ${at}/issue/6/edit x${at}/issue/6`;
    expect(referencesIn(others, url)).to.deep.equal([]);
    expect(referencesIn(text)).to.deep.equal([]);
  });

  const url = "https://forge.example";
  const at = (number: number) => `${url}/project/anna/forge/issue/${number}`;
  for (const [text, expected] of [
    [`Closes [this](${at(6)}). See [that](${at(7)})`, [6]],
    [`Closes [a](${at(6)}), [b](<${at(7)}>) and [c [d]](${at(8)}#note "title")`, [6, 7, 8]],
    [`Closes [#6](${at(6)}), [#7](${at(7)})`, [6, 7]],
    [`Closes [${at(6)}](${at(6)}), ${at(7)}`, [6, 7]],
    [`Closes <${at(6)}>, <${at(7)}>`, [6, 7]],
    [`Closes [\`a\` is *wrong*](${at(6)})`, [6]],
    [`[Closes](${at(6)}) [this](${at(7)})`, []],
    [`Closes [this](${at(6)}/edit), [that] (${at(7)})`, []],
    [`Closes [this](https://other.example/project/anna/forge/issue/6)`, []],
    [`\`Closes [this](${at(6)})\``, []],
  ] as const) {
    it(`close ${JSON.stringify(expected)} by links in "${text.replaceAll(url, "")}"`, () => {
      const closing = referencesInMarkdown(text, url).filter(({ closes }) => closes);
      const numbers = closing.map(({ target }) => Number(/\d+$/.exec(target)));
      expect([...new Set(numbers)]).to.deep.equal(expected);
    });
  }

  it("name what the words and the address of a link name", () => {
    const text = `[like #3](${at(6)}) [like #4](https://other.example/5)`;
    const named = referencesInMarkdown(text, url).map(({ target }) => target);
    expect(named).to.deep.equal(["anna/forge#6", "#3", "#4"]);
  });

  it("are none in what Markdown shows as code or not at all, unless the text is read as it is", () => {
    const text = "`#1`\n<!-- Closes #2 -->\n\n    #3\n\n\\#4 #5";
    expect(referencesInMarkdown(text).map(({ target }) => target)).to.deep.equal(["#5"]);
    expect(targets(text)).to.deep.equal(["#1", "#2", "#3", "#4", "#5"]);
    expect(closed(text)).to.deep.equal(["#2"]);
  });

  it("are found in one pass, however many addresses there are", () => {
    // As short as they can be: a text is searched up to a length.
    return expectLinear(
      256,
      (count) => "h/project/h/project/a/b/issue/6 ".repeat(count),
      (text) => referencesIn(text, "h"),
    );
  });

  it("are at most 100", () => {
    const text = Array.from({ length: 200 }, (_, index) => `#${index + 1}`).join(" ");
    expect(referencesIn(text)).to.have.length(100);
  });
});

describe("mentions in a text", () => {
  for (const [text, expected] of [
    ["@anna, @Boris: look (@clara).", ["anna", "boris", "clara"]],
    ["@anna @ANNA", ["anna"]],
    ["mail@example.org a/@b @@c @d@e", []],
    ["@dora.-", ["dora"]],
    ["\\@anna `@boris` <!-- @clara --> @dora", ["dora"]],
    ["```\n@anna\n```\nSo\n    @boris\n\n    @clara", ["boris"]],
    ["npm i @scope/pkg @my-scope/pkg @my.scope/*, @anna/", ["anna"]],
    ["müller@anna é@anna e\u0301@anna ж@anna ش@anna 名@anna ٣@anna", []],
    ["«@anna»¿@boris? –@clara", ["anna", "boris", "clara"]],
  ] as const) {
    it(`are ${JSON.stringify(expected)} in "${text}"`, () => {
      expect(mentionsIn(text)).to.deep.equal(expected);
    });
  }

  it("are at most 50", () => {
    const text = Array.from({ length: 99 }, (_, index) => `@u${index}`).join(" ");
    expect(mentionsIn(text)).to.have.length(50);
  });
});

describe("the search for references and mentions", () => {
  const repeated = (part: string, length: number) => part.repeat(length / part.length);

  for (const part of [
    ...["a", "a/", "ab/cd", "0", "f", "#1", "closes ", ", ", "@a", "@", "a.-_", "@a-", "@a/", "é@"],
    ...["[", "[a", "[a]", "[[a]", "](a/b#1", "[a](a/b#1", "[a](a/b#1 '", '[a](a/b#1 "a" ', "[[]"],
  ]) {
    it(`takes time in proportion to a text of "${part}"`, () =>
      expectLinear(
        8_192,
        (length) => repeated(part, length),
        (text) => [referencesIn(text, "a"), referencesInMarkdown(text, "a"), mentionsIn(text)],
      ));
  }
});
