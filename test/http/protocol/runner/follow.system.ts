import { expect } from "chai";

import { follow } from "../../../../src/http/api/agent/log.ts";
import { findJob } from "../../../../src/projections/pipeline/query.ts";
import { startAppWithAgent } from "../../../support/agent/agent-app.ts";

const { app, token, search, at, put, begin, patch } = await startAppWithAgent();

before(() => at.commit({ ".forge-ci.yaml": "build: {script: make}" }, "Add [skip ci]"));

describe("following the log of a job that is run once more", () => {
  it("ends with the log of the run that was followed", async () => {
    const pipeline = await at.start();
    const first = await begin();
    await patch(first, 0, "first\n");
    const [view] = await at.jobs(pipeline["localId"]);
    const localId = Number(view?.["localId"]);
    const row = await findJob(app.deps.db, search.id, localId);
    const mustStillMay = async (): Promise<void> => undefined;
    const { signal } = new AbortController();
    const read: string[] = [];
    for await (const event of follow(app.deps, { jobId: row!.id, from: 0, signal, mustStillMay })) {
      read.push(event);
      if (!event.includes("first")) continue;
      await patch(first, 6, "made\n");
      await put(first, { state: "failed", failure_reason: "script_failure" });
      const path = `${at.base}/cicd/job/${localId}/restart`;
      expect((await app.post(path, { token })).status).to.equal(200);
      const second = await begin();
      await patch(second, 0, "a log of its own, and longer\n");
      await put(second, { state: "success" });
    }
    const text = read.join("");
    expect(text).to.include("made").and.not.include("longer");
    expect(text.endsWith("event: end\nid: 11\ndata:\n\n")).to.equal(true);
  });
});

describe("following the log of a job from an offset", () => {
  const from = async (localId: unknown, id: string) =>
    app.get(`${at.base}/cicd/job/${localId}/log/stream`, {
      token,
      headers: { "last-event-id": id },
    });

  it("is refused where the offset is none, or lies ahead", async () => {
    const pipeline = await at.start();
    const job = await begin();
    const [view] = await at.jobs(pipeline["localId"]);
    const localId = view?.["localId"];
    expect((await from(localId, "1")).status).to.equal(422);
    await patch(job, 0, "one\n");
    await put(job, { state: "success" });
    for (const id of ["5", "x", "-1", "1.5", "9".repeat(30)]) {
      const { status, text } = await from(localId, id);
      expect(status, id).to.equal(422);
      expect(text).to.include("Last-Event-ID").and.include("log.position");
    }
    expect((await from(localId, "4")).text.endsWith("event: end\nid: 4\ndata:\n\n")).to.equal(true);
  });
});
