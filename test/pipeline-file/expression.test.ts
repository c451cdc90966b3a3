import { expect } from "chai";

import {
  type Expression,
  ExpressionError,
  holds,
  parseExpression,
} from "../../src/pipeline-file/expression.ts";
import { expectLinear } from "../support/app/growth.ts";
import { randomNumbers } from "../support/app/random.ts";

const variables: Readonly<Record<string, string>> = {
  BRANCH: "feature/search",
  EMPTY: "",
  PATTERN: "/^feature\\/.*$/",
  LOUD: "/FEATURE/i",
  BARE: "feature",
  ONE: "1",
};
const lookup = (name: string) => variables[name];
const check = (text: string) => holds(parseExpression(text), lookup);

describe("a condition of a pipeline file", () => {
  for (const [text, expected] of [
    ["$BRANCH", true],
    ["$EMPTY", false],
    ["$MISSING", false],
    ['$BRANCH == "feature/search"', true],
    ["$BRANCH == 'main'", false],
    ["$BRANCH != 'main'", true],
    ["'1' == $ONE", true],
    ["$MISSING == null", true],
    ["$EMPTY == null", false],
    ['$EMPTY == ""', true],
    ["null != $BRANCH", true],
    ["$BRANCH =~ /^feature/", true],
    ["$BRANCH =~ /FEATURE/", false],
    ["$BRANCH =~ /FEATURE/i", true],
    ["$BRANCH !~ /^main$/", true],
    ["$BRANCH =~ /feature\\/search/", true],
    ["$BRANCH =~ $PATTERN", true],
    ["$BRANCH =~ $LOUD", true],
    ["$BRANCH =~ $BARE", false],
    ["$MISSING =~ /x/", false],
    ["$MISSING !~ /x/", true],
    ["$ONE && $BRANCH", true],
    ["$ONE && $EMPTY", false],
    ["$EMPTY || $ONE", true],
    ["$ONE || $EMPTY && $MISSING", true],
    ["($ONE || $EMPTY) && $MISSING", false],
    ["$ONE == '1' && ($BRANCH =~ /x/ || $BRANCH =~ /search/)", true],
    [" \t$ONE\n||\n$EMPTY ", true],
    ['"text"', true],
    ['""', false],
  ] as const) {
    it(`${JSON.stringify(text)} is ${expected}`, () => {
      expect(check(text)).to.equal(expected);
    });
  }

  for (const text of [
    "",
    "$ONE ==",
    "== $ONE",
    "$ONE $ONE",
    "($ONE",
    "$ONE)",
    "$ONE = 1",
    "$ONE == 1",
    "$ONE == /x/",
    "$ONE =~ 'x'",
    "/x/ =~ $ONE",
    "/x/",
    "$ONE =~ /(/",
    "$ONE =~ /(?=x)/",
    '$ONE == "open',
    `$ONE =~ /${"x".repeat(2_000)}/`,
    `${"(".repeat(60)}$ONE${")".repeat(60)}`,
    "x".repeat(10_000),
  ]) {
    it(`refuses ${JSON.stringify(text.slice(0, 30))}`, () => {
      expect(() => parseExpression(text)).to.throw(ExpressionError);
    });
  }

  it("means the same after being written out again", () => {
    const random = randomNumbers(7);
    for (let round = 0; round < 500; round += 1) {
      const expression = anyExpression(random, 4);
      const again = parseExpression(written(expression));
      expect(holds(again, lookup), written(expression)).to.equal(holds(expression, lookup));
    }
  });

  it("agrees with the laws of logic", () => {
    const random = randomNumbers(11);
    for (let round = 0; round < 300; round += 1) {
      const [left, right] = [anyExpression(random, 2), anyExpression(random, 2)];
      const [a, b] = [holds(left, lookup), holds(right, lookup)];
      expect(holds({ kind: "&&", left, right }, lookup)).to.equal(a && b);
      expect(holds({ kind: "||", left, right }, lookup)).to.equal(a || b);
    }
  });

  it("takes time in proportion to the length of a text, whatever the pattern", async () => {
    const condition = parseExpression("$TEXT =~ /^(a+)+$/ || $TEXT =~ /(a*)*b/");
    await expectLinear(
      2_048,
      (length) => `${"a".repeat(length)}!`,
      (subject) => expect(holds(condition, () => subject)).to.equal(false),
    );
  });
});

type Random = (below: number) => number;

function anyExpression(random: Random, depth: number): Expression {
  if (depth === 0 || random(3) === 0) return anyComparison(random);
  const kind = random(2) === 0 ? "&&" : "||";
  return { kind, left: anyExpression(random, depth - 1), right: anyExpression(random, depth - 1) };
}

function anyComparison(random: Random): Expression {
  const names = ["BRANCH", "EMPTY", "MISSING", "ONE"];
  const variable = { kind: "variable", name: names[random(names.length)]! } as const;
  const right = [{ kind: "text", value: "1" }, { kind: "null" }, variable] as const;
  const pattern = { kind: "pattern", source: "^f|1", flags: "i" } as const;
  switch (random(4)) {
    case 0:
      return variable;
    case 1:
      return { kind: "==", left: variable, right: right[random(3)]! };
    case 2:
      return { kind: "!=", left: variable, right: right[random(3)]! };
    default:
      return { kind: random(2) === 0 ? "=~" : "!~", left: variable, right: pattern };
  }
}

function written(expression: Expression): string {
  switch (expression.kind) {
    case "variable":
      return `$${expression.name}`;
    case "text":
      return `"${expression.value}"`;
    case "null":
      return "null";
    case "pattern":
      return `/${expression.source}/${expression.flags}`;
    default: {
      const [left, right] = [written(expression.left), written(expression.right)];
      return `(${left} ${expression.kind} ${right})`;
    }
  }
}
