import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { expect } from "chai";

import { givenAgent, info } from "../../../support/agent/agent.ts";
import { agentTalk, type TakenJob } from "../../../support/agent/agent-job.ts";
import { pipelinesOf } from "../../../support/agent/pipeline-app.ts";
import { secretKey, sender, startTestApp } from "../../../support/app/app.ts";
import { bundledArgs } from "../../../support/compiled.ts";
import { killHard } from "../../../support/process/process.ts";

const jobCount = 60;
const agentsOfEach = 4;

const app = await startTestApp();
const anna = await app.givenUser("anna");
const search = await app.givenProject(anna, "search");
const at = pipelinesOf(app, anna, search);
const { token } = anna;
const runners = { base: "/project/anna/search/runners", token };

/** Requests to a process as those of `app` go to this one. */
function requestsTo(url: string) {
  const send = sender(url);
  const post = (...args: Parameters<typeof app.post>) => send("POST", ...args);
  return { send, post, put: (...args: Parameters<typeof app.put>) => send("PUT", ...args) };
}

describe("jobs that two processes give at one instant", () => {
  let otherUrl: string;
  let child: ChildProcess | undefined;
  before(async () => {
    // Answers requests on the same stores. It would die at an event that nothing appends.
    const stores = [app.databaseUrl, app.eventStoreUrl, app.dataDir, secretKey, "NeverAppended"];
    const args = [...bundledArgs("test/support/process/dying-service.ts"), "before", ...stores];
    const other = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    child = other;
    [otherUrl] = (await once(createInterface(other.stdout), "line")) as [string];
  });
  after(async () => {
    if (child !== undefined) await killHard(child);
  });

  it("are given once each, and end by a request to either process", async () => {
    const agents = await Promise.all(
      Array.from({ length: 2 * agentsOfEach }, () => givenAgent(app, runners)),
    );
    const urls = [app.url, otherUrl];
    const taken: number[] = [];
    const takenBy = new Map<string, number>();
    const over = new AbortController();
    const work = agents.map(async ({ token: agentToken }, n) => {
      const here = urls[n % 2] ?? "";
      const same = agentTalk(requestsTo(here), agentToken);
      const other = agentTalk(requestsTo(urls[(n + 1) % 2] ?? ""), agentToken);
      while (!over.signal.aborted) {
        const job = await nextJob(here, agentToken, over.signal);
        if (job === undefined) continue;
        taken.push(job.id);
        takenBy.set(here, (takenBy.get(here) ?? 0) + 1);
        // What one process gave, the other one knows.
        expect((await other.put(job, { state: "running" })).status).to.equal(200);
        expect((await same.put(job, { state: "success" })).status).to.equal(200);
        if (taken.length >= jobCount) over.abort();
      }
    });
    await at.commit({
      ".forge-ci.yaml": Array.from({ length: jobCount }, (_, n) => `j${n}: {script: [x]}`).join(
        "\n",
      ),
    });
    const { localId } = await at.start();
    await Promise.all(work).finally(() => over.abort());

    expect(new Set(taken).size).to.equal(taken.length);
    expect(taken).to.have.length(jobCount);
    expect([...takenBy.keys()]).to.have.members(urls);
    const jobs = await at.jobs(localId);
    expect(jobs.map(({ status }) => status)).to.deep.equal(jobs.map(() => "SUCCESS"));
  });
});

/** Undefined when there is none, or when the signal aborts. */
async function nextJob(
  url: string,
  agentToken: string,
  signal: AbortSignal,
): Promise<TakenJob | undefined> {
  const response = await fetch(`${url}/api/v4/jobs/request`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token: agentToken, info }),
    signal,
  }).catch(() => undefined);
  if (response === undefined || response.status === 204) return undefined;
  expect(response.status).to.equal(201);
  return (await response.json()) as TakenJob;
}
