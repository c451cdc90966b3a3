import { expect } from "chai";

import { isComposerConstraint } from "../../../src/package/composer/grammar.ts";

/** What composer/semver says to each. */
const taken = [
  "1.0 - 2.0 >1.1",
  ">1.0 , <2.0,!= 1.5",
  "> 1.0 as 1.2",
  "dev-main#abc as 1.0",
  "1.0  , <2.0",
  "@dev",
];
const refused = [
  "1.2.3 , - 1",
  "1.0  - 2.0",
  "1.0 -2.0",
  "1 , as >1.2.3.4",
  "1.0 as",
  "1.0,,2.0",
  "1.0 -",
  "dev-a  as 1",
  "^ 1.0",
  "1.0\t<2.0",
  "\u00a01.0",
  "1.0\u2003<2.0",
];

describe("a constraint of Composer", () => {
  for (const text of taken) {
    it(`is ${JSON.stringify(text)}`, () => expect(isComposerConstraint(text)).to.equal(true));
  }
  for (const text of refused) {
    it(`is not ${JSON.stringify(text)}`, () => expect(isComposerConstraint(text)).to.equal(false));
  }
});
