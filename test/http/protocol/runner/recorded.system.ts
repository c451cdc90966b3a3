import { expect } from "chai";
import { z } from "zod";
import { pipelinesOf } from "../../../support/agent/pipeline-app.ts";
import { startTestApp } from "../../../support/app/app.ts";
import { readRecording, recordingWith, sendRecorded } from "../../../support/app/recorded.ts";

/** What gitlab-runner sent for the jobs below. What differs each time is in braces. */
const Recorded = recordingWith({
  /** One of these at most. */
  json: z.unknown().optional(),
  text: z.string().optional(),
  base64: z.base64().optional(),
  answerHeaders: z.record(z.string(), z.string()),
});
type Exchange = z.output<typeof Recorded>["exchanges"][number];

const file = `
stages: [build, test]
build:
  stage: build
  script: [echo built > out.txt, 'echo VERSION=1 > build.env', 'echo "$CI_JOB_TOKEN"']
  artifacts: {paths: [out.txt], expire_in: 1 day, reports: {dotenv: build.env}}
use:
  stage: test
  script: [cat out.txt, exit 3]
  allow_failure: {exit_codes: [3]}
`;

const app = await startTestApp({ workers: true });
const anna = await app.givenUser("anna");
const at = pipelinesOf(app, anna, await app.givenProject(anna, "search"));
const { token } = anna;

const values = new Map([["host", new URL(app.url).host]]);
const filled = (text: string): string =>
  text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => values.get(name) ?? whole);

function bodyOf({ json, text, base64 }: Exchange): Buffer {
  if (base64 !== undefined) return Buffer.from(base64, "base64");
  return Buffer.from(text ?? (json === undefined ? "" : filled(JSON.stringify(json))));
}

function send(exchange: Exchange) {
  const { method, headers } = exchange;
  const body = bodyOf(exchange);
  const isChunked = headers.some(([name]) => name === "Transfer-Encoding");
  const length = isChunked || body.length === 0 ? {} : { "Content-Length": String(body.length) };
  const own = Object.fromEntries(headers.map(([name, value]) => [name, filled(value)]));
  const url = `${app.url}${filled(exchange.path)}`;
  return sendRecorded(url, { method, headers: { ...own, ...length }, body });
}

/** Keeps what the answer gave the runner for its next requests. */
function learn({ path: to }: Exchange, content: Buffer): void {
  const isJob = to === "/api/v4/jobs/request";
  if (!isJob && !/\/runners(?:\/reset\w+)?$/.test(to)) return;
  const given = JSON.parse(content.toString()) as { id: number; token: string };
  if (!isJob) values.set(values.has("agent") ? "newAgent" : "agent", given.token);
  else {
    const count = values.has("job1") ? 2 : 1;
    values.set(`job${count}`, String(given.id)).set(`token${count}`, given.token);
  }
}

describe("a recorded gitlab-runner", () => {
  it("registers, runs two jobs and unregisters, and gets the answers that it was content with", async () => {
    const kept = "test/http/protocol/runner/recorded/gitlab-runner-19.json";
    const { exchanges } = await readRecording(Recorded, kept);
    const runners = "/project/anna/search/runners";
    const { body: info } = await app.get(`${runners}/registration-info`, { token });
    values.set("registration", String(info["registrationToken"]));
    await at.commit({ ".forge-ci.yaml": file }, "[skip ci] Add");
    const { localId } = await at.start();
    for (const exchange of exchanges) {
      const { response, content } = await send(exchange);
      const step = `${exchange.method} ${exchange.path}`;
      expect(response.statusCode, `${step} ${content}`).to.equal(exchange.status);
      expect(response.headers, step).to.include(exchange.answerHeaders);
      if (response.statusCode !== 204) learn(exchange, content);
      if (exchange.method === "GET") {
        const sent = exchanges.find(({ path: to }) => to.includes("artifact_type=archive"));
        expect(bodyOf(sent ?? exchange).includes(content), step).to.equal(true);
      }
      if (exchange.path === "/api/v4/runners" && exchange.method === "POST") {
        const { body } = await app.get(runners, { token });
        const [agent] = (body["_embedded"] as { restPipelineRunnerModelList: unknown[] })
          .restPipelineRunnerModelList;
        const settings = { name: "real", description: "A note", maxTimeoutInSec: 900 };
        expect(agent).to.deep.include({ ...settings, tags: ["one", "two"], runUntagged: true });
      }
    }
    const [build, use] = await at.jobs(localId);
    expect(build).to.include({ name: "build", status: "SUCCESS", failureReason: null });
    expect(use).to.include({ name: "use", status: "WARNING", failureReason: "script_failure" });
    const log = await app.get(`${at.base}/cicd/job/${use?.["localId"]}/log`, { token });
    const sent = exchanges.filter(({ path: to }) => to.startsWith("/api/v4/jobs/{job2}/trace"));
    expect(log.text).to.equal(sent.map(({ text }) => text).join(""));
    const { body } = await app.get(runners, { token });
    expect(body["page"]).to.include({ totalElements: 0 });
  });
});
