import { gzipSync } from "node:zlib";
import { expect } from "chai";
import { findJob } from "../../../src/projections/pipeline/query.ts";
import { jobPayload } from "../../../src/services/pipeline/payload.ts";
import { givenAgent } from "../../support/agent/agent.ts";
import { agentTalk, uploadFile } from "../../support/agent/agent-job.ts";
import { pipelinesOf } from "../../support/agent/pipeline-app.ts";
import { startTestApp } from "../../support/app/app.ts";

const app = await startTestApp();
const anna = await app.givenUser("anna");
const search = await app.givenProject(anna, "search");
const at = pipelinesOf(app, anna, search);
const agent = await givenAgent(app, { base: `${at.base}/runners`, token: anna.token });
const { put, begin } = agentTalk(app, agent.token);

const yaml = `
stages: [build, test]
build:
  stage: build
  script: x
  artifacts: {reports: {dotenv: build.env}}
test:
  stage: test
  script: x
`;
const variable = "VERSION=1.2\n";
const reportBytesMax = 64 * 1024;
const filled = (bytes: number) => `${variable}#${"x".repeat(bytes - variable.length - 2)}\n`;

/** What the second job knows as VERSION after the first one reported this. */
async function versionAfter(report: Uint8Array): Promise<string | undefined> {
  const { localId } = await at.start();
  const job = await begin();
  const query = "artifact_type=dotenv";
  const stored = await uploadFile(app, job, { query, name: ".env.gz", content: report });
  expect(stored.status, await stored.text()).to.equal(201);
  await put(job, { state: "success" });
  const test = (await at.jobs(localId)).find(({ name }) => name === "test");
  const row = await findJob(app.deps.db, search.id, Number(test!["localId"]));
  const { variables } = (await jobPayload(app.deps, row!, "job token"))!;
  return variables.find(({ key }) => key === "VERSION")?.value;
}

describe("variables that a job reports", () => {
  before(() => at.commit({ ".forge-ci.yaml": yaml }, "Add [skip ci]"));

  it("are known to jobs of later stages, up to 64 KiB of them", async () => {
    expect(await versionAfter(gzipSync(variable))).to.equal("1.2");
    expect(await versionAfter(gzipSync(filled(reportBytesMax)))).to.equal("1.2");
    expect(await versionAfter(gzipSync(filled(reportBytesMax + 1)))).to.equal(undefined);
  });

  it("are none of a report that is no gzip, or expands to far more than it is", async () => {
    expect(await versionAfter(Buffer.from(variable))).to.equal(undefined);
    const bomb = gzipSync(Buffer.concat([Buffer.from(variable), Buffer.alloc(50 * 1024 ** 2)]));
    expect(bomb.length).to.be.below(reportBytesMax);
    expect(await versionAfter(bomb)).to.equal(undefined);
  });
});
