import { expect } from "chai";

import { offersFor } from "../../../src/services/git/push-offer.ts";

const project = { owner_alias: "anna", alias: "forge", default_branch: "main" };
const hash = "a".repeat(40);
const created = (ref: string) => ({ ref, before: null, after: hash });
const offers = (...commands: Parameters<typeof offersFor>[0]) => [
  ...offersFor(commands, project, "https://forge.example/base"),
];

describe("what a push offers", () => {
  it("is the address of the form for a merge request, for a new branch", () => {
    const address =
      "https://forge.example/base/page/project/anna/forge/merge-request/new?sourceBranch=a%2Fb%23c";
    expect(offers(created("refs/heads/a/b#c"), created("refs/tags/v1"))).to.deep.equal([
      ["refs/heads/a/b#c", `Open a merge request for a/b#c: ${address}`],
    ]);
  });

  it("is nothing for the default branch, what was there, what goes and many at once", () => {
    expect(offers(created("refs/heads/main"), created("refs/heads/a"))).to.deep.equal([]);
    expect(offers({ ref: "refs/heads/a", before: hash, after: "b".repeat(40) })).to.deep.equal([]);
    expect(offers({ ref: "refs/heads/a", before: hash, after: null })).to.deep.equal([]);
    expect(offers(...["1", "2", "3", "4"].map((name) => created(`refs/heads/${name}`)))).to.be
      .empty;
  });
});
