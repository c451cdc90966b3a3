import { expect } from "chai";

import { auditTrail } from "../../../src/projections/audit/trail.ts";
import { startTestApp } from "../../support/app/app.ts";
import { eventually } from "../../support/app/eventually.ts";
import { startReceiver } from "../../support/client/receiver.ts";
import { git } from "../../support/git/git.ts";
import { givenPeople, refWorlds } from "../../support/git/ref-world.ts";

const app = await startTestApp({ workers: true });
const newWorld = await refWorlds(app);

describe("what is written over REST", () => {
  it("is reported to webhooks and the audit as a push is, in its order", async () => {
    const receiver = await startReceiver();
    const people = await givenPeople(app);
    const { anna, bob } = people;
    const world = await newWorld(people);
    const kinds = ["BRANCH_CREATE", "BRANCH_UPDATE", "BRANCH_DELETE", "TAG_CREATE", "TAG_UPDATE"];
    const events = Object.fromEntries([...kinds, "TAG_DELETE"].map((kind) => [kind, true]));
    await world.post(anna, "/setting/webhook", { url: receiver.url, events });
    const delivered = async (count: number) => {
      await eventually(() => receiver.received.length >= count);
      return JSON.parse(receiver.received[count - 1]?.body ?? "{}") as Record<string, unknown>;
    };

    await world.post(bob, "/branch", { newBranch: "dev", originBranch: "main" });
    expect(await delivered(1)).to.deep.include({
      action: "BRANCH_CREATE",
      branch: { name: "dev" },
      user: { id: bob.id, alias: "bob" },
    });

    const action = { action: "CREATE", path: "docs/new.md", content: "new\n" };
    const made = await world.post(bob, "/commit", {
      ...{ branch: "dev", message: "By REST" },
      actions: [action, { action: "UPDATE", path: "a.txt", content: "other\n" }],
    });
    const update = await delivered(2);
    expect(update["action"]).to.equal("BRANCH_UPDATE");
    expect(update["push"]).to.deep.include({
      ref: "refs/heads/dev",
      before: world.head,
      after: made.body["hash"],
      total_commits_count: 1,
    });
    expect((update["push"] as { commits: unknown[] }).commits[0]).to.deep.include({
      author_email: "bob@example.org",
      added: ["docs/new.md"],
      modified: ["a.txt"],
    });

    const annotated = await world.post(bob, "/tag/create", { tagName: "v1", message: "One" });
    expect(await delivered(3)).to.deep.include({
      action: "TAG_CREATE",
      tag: { name: "v1", commit_id: world.head, message: "One\n", light_weight: false },
    });
    await git(world.copy, "push", "--quiet", "origin", "main:refs/tags/v1", "--force");
    expect(await delivered(4)).to.deep.include({
      action: "TAG_UPDATE",
      tag: {
        ...{ name: "v1", commit_id: world.head, message: null, light_weight: true },
        ...{ before: annotated.body["objectId"], after: world.head },
      },
      user: { id: anna.id, alias: "anna" },
    });
    await world.delete(bob, "/tag/v1");
    expect((await delivered(5))["action"]).to.equal("TAG_DELETE");
    await world.delete(bob, "/branch?branchName=dev");
    expect((await delivered(6))["action"]).to.equal("BRANCH_DELETE");

    const { db, store, vault } = app.platform;
    const lines: string[] = [];
    const filter = { placeId: world.project.id };
    for await (const line of auditTrail({ db, store, open: vault.open }, filter)) {
      if (!/^(?:Branch|Tag)[A-Z]/.test(line.type)) continue;
      lines.push(`${line.type} by ${line.actor.alias} from ${line.ip}`);
    }
    expect(lines).to.deep.equal([
      "BranchCreated by anna from 127.0.0.1",
      "BranchCreated by bob from 127.0.0.1",
      "BranchUpdated by bob from 127.0.0.1",
      "TagCreated by bob from 127.0.0.1",
      "TagUpdated by anna from 127.0.0.1",
      "TagDeleted by bob from 127.0.0.1",
      "BranchDeleted by bob from 127.0.0.1",
    ]);
  });
});
