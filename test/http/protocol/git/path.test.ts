import { expect } from "chai";

import { repositoryPath } from "../../../../src/http/protocol/git/path.ts";

const path = repositoryPath("(info/refs)");
const namesIn = (text: string) => path(text)?.slice(0, 2).join(" ");

describe("the address of a repository", () => {
  for (const [text, names] of [
    ["/project/anna/search.git", "anna search"],
    ["/project/anna/search", "anna search"],
    ["/anna/search.git", "anna search"],
    ["/rest-api/anna/search.git", "anna search"],
    ["/project/project/project.git", "project project"],
    ["/project/search.git", "project search"],
    ["/anna/search", undefined],
    ["/anna/search.git/more", undefined],
    ["/company/anna/search.git", undefined],
    ["/search.git", undefined],
  ] as const) {
    it(`at ${text} is ${names === undefined ? "none" : `that of ${names}`}`, () => {
      expect(namesIn(`${text}/info/refs`)).to.equal(names);
    });
  }
});
