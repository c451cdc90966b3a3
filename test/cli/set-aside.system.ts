import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { startTestApp } from "../support/app/app.ts";
import { runCli } from "../support/process/cli.ts";

const app = await startTestApp();
const ids = [randomUUID(), randomUUID(), randomUUID()];
const rows = () => app.platform.db("public.reactor_set_aside").whereIn("event_id", ids);

before(async () => {
  await app.platform.db("public.reactor_set_aside").insert(
    ids.map((event_id, index) => ({
      reactor: "webhook-notification",
      event_id,
      stream: `repository-${index}`,
      revision: index,
      type: "BranchCreated",
      reason: `It is ${index}\u001b[2J\nand more`,
      set_aside_at: new Date(Date.UTC(2026, 0, 1, 0, 0, index)),
    })),
  );
});

const setAside = (...args: string[]) => runCli(app, "set-aside", ...args);
const retriesRequested = async () =>
  (await rows())
    .filter((row) => row.retry_requested_at !== null)
    .map((row) => String(row.event_id));

describe("ledgerforge set-aside", () => {
  it("lists what reactors set aside, one line each, and ends with 1", async () => {
    const { code, out } = await setAside();
    expect(code, out).to.equal(1);
    const lines = out.trimEnd().split("\n");
    expect(lines).to.have.length(3);
    const first = lines.find((line) => line.includes(String(ids[0])));
    expect(first).to.equal(
      `2026-01-01T00:00:00.000Z webhook-notification ${ids[0]} BranchCreated (repository-0, revision 0): It is 0 [2J and more`,
    );
  });

  it("takes ids after --retry alone, and only ids", async () => {
    for (const args of [[String(ids[0])], ["--retry", "x"], ["--retry", `${ids[0]}'`]]) {
      const { code, out } = await setAside(...args);
      expect([code, out]).to.deep.equal([64, "Ids of events follow --retry.\n"]);
    }
    expect(await retriesRequested()).to.deep.equal([]);
  });

  it("has those tried again that are named, or all", async () => {
    const one = await setAside("--retry", String(ids[1]));
    expect(one).to.deep.equal({ code: 0, out: "1 will be tried again within a minute.\n" });
    expect(await retriesRequested()).to.deep.equal([ids[1]]);
    const unknown = await setAside("--retry", randomUUID());
    expect(unknown).to.deep.equal({ code: 0, out: "0 will be tried again within a minute.\n" });
    expect((await setAside("--retry")).code).to.equal(0);
    expect((await retriesRequested()).sort()).to.deep.equal([...ids].sort());
  });
});
