import { expect } from "chai";

import { environmentSlug, tierOf } from "../../src/pipeline-file/environment-name.ts";

describe("the slug of an environment", () => {
  it("is the name where that may stand in a host name", () => {
    expect(environmentSlug("staging")).to.equal("staging");
    expect(environmentSlug("a".repeat(24))).to.equal("a".repeat(24));
    expect(environmentSlug("blue-")).to.equal("blue");
  });

  // Values that GitLab has for these names.
  for (const [name, slug] of [
    ["deployment-review/TEST-branch-with-really-long-name", "deployment-review-l58kaf"],
    ["deployment-$CI_COMMIT_REF_NAME", "deployment-ci-com-5ftzun"],
  ] as const) {
    it(`ends with characters that follow from the name ${name}`, () => {
      expect(environmentSlug(name)).to.equal(slug);
    });
  }

  it("begins with a letter, has no dashes in a row, and at most 24 characters", () => {
    for (const name of ["1/2", "--", "é", "Upper", "a".repeat(25), "a__b", `${"b".repeat(16)}/x`]) {
      expect(environmentSlug(name)).to.match(/^(?=.{1,24}$)[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/);
    }
  });
});

describe("the tier of an environment without one", () => {
  for (const [name, tier] of [
    ["production", "production"],
    ["LIVE", "production"],
    ["eu-prod", "production"],
    ["staging", "staging"],
    ["demo", "staging"],
    ["qa", "testing"],
    ["acpt", "testing"],
    ["review/main", "development"],
    ["dev-prod", "development"],
    ["moon", "other"],
  ] as const) {
    it(`follows from the name ${name}`, () => {
      expect(tierOf(name)).to.equal(tier);
    });
  }
});
