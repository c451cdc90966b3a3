import { expect } from "chai";

import { startTestApp } from "../support/app/app.ts";
import { runCli } from "../support/process/cli.ts";

const app = await startTestApp();
const anna = await app.givenUser("anna");
const search = await app.givenProject(anna, "search");

describe("the program that shows the audit", function () {
  this.timeout(60_000);
  const project = `${search.ownerAlias}/${search.alias}`;

  it("shows what one request led to", async () => {
    const requestId = "0e5f2c1e-7d4b-4f7a-9f0e-2b1c5a3d4e6f";
    const label = `/project/${project}/label`;
    for (const [title, headers] of [
      ["bug", { "x-request-id": requestId }],
      ["other", {}],
    ] as const) {
      const answer = await app.post(label, { token: anna.token, headers, body: { title } });
      expect(answer.status, answer.text).to.equal(200);
    }
    const { code, out } = await runCli(app, "audit", "--correlation", requestId, "--json");
    expect(code, out).to.equal(0);
    const entries = out.trimEnd().split("\n");
    const seen = entries.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(seen.map(({ type, correlationId }) => [type, correlationId])).to.deep.include([
      ...["LabelCreated", requestId],
    ]);
    expect(new Set(seen.map(({ correlationId }) => correlationId))).to.deep.equal(
      new Set([requestId]),
    );
  });

  it("names an event type that does not exist", async () => {
    const { code, out } = await runCli(app, "audit", "--type", "LabelCreated,LabelMade");
    expect([code, out]).to.deep.equal([78, "There is no event type LabelMade.\n"]);
  });

  it("refuses two forms at once", async () => {
    const { code, out } = await runCli(app, "audit", "--json", "--csv");
    expect([code, out]).to.deep.equal([78, "Give one of --json and --csv.\n"]);
  });
});
