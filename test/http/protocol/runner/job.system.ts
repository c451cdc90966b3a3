import { expect } from "chai";

import { givenAgent } from "../../../support/agent/agent.ts";
import { startAppWithAgent } from "../../../support/agent/agent-app.ts";
import { countHeldPolls, heldPoll } from "../../../support/agent/agent-job.ts";
import { eventually } from "../../../support/app/eventually.ts";

const { app, at, runners, put } = await startAppWithAgent();

describe("asking for a job", () => {
  it("looks for a job a few times, however many agents of one kind wait for it", async () => {
    const many = 20;
    const others = await Promise.all(
      Array.from({ length: many }, () => givenAgent(app, runners, { tag_list: "linux" })),
    );
    let looks = 0;
    const count = ({ sql }: { sql: string }): void => {
      if (sql.startsWith("with head as")) looks += 1;
    };
    app.deps.db.on("query", count);
    const leave = new AbortController();
    const held = countHeldPolls(app.deps);
    const polls = others.map((each) => heldPoll(app, each.token, leave.signal));
    await eventually(() => held.count() >= many);
    held.end();
    looks = 0;
    await at.commit({ ".forge-ci.yaml": "build:\n  script: [make]\n" });
    await at.start();
    const job = await Promise.any(polls);
    await put(job, { state: "running" });
    await put(job, { state: "success" });
    leave.abort();
    await Promise.allSettled(polls);
    app.deps.db.off("query", count);
    expect(looks).to.be.within(1, many - 1);
  });
});
