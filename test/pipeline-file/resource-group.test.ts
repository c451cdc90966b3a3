import { expect } from "chai";

import { compile } from "../support/agent/pipeline-file.ts";

describe("the resource group of a job", () => {
  const group = async (name: string, more = "") => {
    const file = `
variables: {REGION: eu, ZONE: $REGION-1, WRITTEN: {value: $REGION, expand: false}}
job: {script: x, resource_group: "${name}", ${more}}
`;
    const predefined = { CI_COMMIT_REF_NAME: "a$REGION" };
    const { jobs } = await compile(file, {
      predefined,
      outer: { SECRET: "hidden", REGION: "hidden" },
    });
    return jobs.map(({ resourceGroup }) => resourceGroup);
  };

  for (const [name, expected] of [
    ["$ZONE/$CI_JOB_NAME/$CI_JOB_STAGE", "eu-1/job/test"],
    ["$CI_COMMIT_REF_NAME $WRITTEN", "a$REGION $REGION"],
    ["of $SECRET", "of "],
    ["$SECRET", null],
    [`%ZONE%/\${REGION} 100%`, "eu-1/eu 100%"],
  ] as const) {
    it(`is ${expected} for ${name}`, async () => {
      expect(await group(name)).to.deep.equal([expected]);
    });
  }

  it("has the variables of the matrix and the name of the environment", async () => {
    const more = "environment: $ZONE/$A, parallel: {matrix: [{A: [x, y]}]}";
    expect(await group("$CI_ENVIRONMENT_NAME", more)).to.deep.equal(["eu-1/x", "eu-1/y"]);
  });
});
