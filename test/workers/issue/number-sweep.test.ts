import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { handle } from "../../../src/commands/core/handle.ts";
import { issue } from "../../../src/commands/issue/issue.ts";
import { IssueId } from "../../../src/events/issue/issue.ts";
import { sweepUnnumberedIssues } from "../../../src/workers/issue/number-sweep.ts";
import { startTestApp } from "../../support/app/app.ts";
import { metadataFor } from "../../support/app/history.ts";
import { issueClient } from "../../support/app/issue.ts";

const app = await startTestApp();
const anna = await app.givenUser("anna");
const forge = await app.givenProject(anna, "forge");
const issues = issueClient(app, anna, "anna/forge");

/** A process that died right after its first append. */
async function createUnnumbered(title: string): Promise<void> {
  const issueId = IssueId.parse(randomUUID());
  const command = {
    type: "CreateIssue",
    issueId,
    details: { title, description: "d", status: "OPEN", assigneeIds: [], labelIds: [] },
    projectId: forge.id,
    by: anna.id,
    at: new Date().toISOString(),
  } as const;
  const order = { id: issueId, command, metadata: metadataFor(randomUUID()) };
  await app.deps.visible((await handle(app.deps.store, issue, order)).position);
}

async function sweep(laterMs: number): Promise<void> {
  await sweepUnnumberedIssues({ ...app.deps, now: () => new Date(Date.now() + laterMs) });
  await app.deps.visible(await app.head());
}

describe("issues that were created and not numbered", () => {
  it("are shown with the next number once their process cannot be alive any more", async () => {
    await issues.created();
    await createUnnumbered("lost");
    expect((await issues.list()).ids).to.deep.equal([1]);
    await issues.created();
    await sweep(30_000);
    expect((await issues.list()).ids).to.deep.equal([2, 1]);
    await sweep(61_000);
    await sweep(61_000);
    const { issues: shown, page } = await issues.list();
    expect(shown.map(({ localId, title }) => [localId, title])).to.deep.equal([
      [3, "lost"],
      [2, "Search"],
      [1, "Search"],
    ]);
    expect(page).to.include({ totalElements: 3 });
  });
});
