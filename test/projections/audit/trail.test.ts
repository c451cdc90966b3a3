import { expect } from "chai";
import type { Actor } from "../../../src/events/core/event.ts";
import { openVault } from "../../../src/platform/key/vault.ts";
import { changesOf } from "../../../src/projections/audit/change.ts";
import { auditEntryProjection } from "../../../src/projections/audit/entry.ts";
import { type AuditLine, auditTrail } from "../../../src/projections/audit/trail.ts";
import { metadataFor } from "../../support/app/history.ts";
import { context, project, reset } from "../../support/app/projection.ts";
import { append, sent } from "../../support/package/parcel.ts";
import { testDatabase } from "../../support/store/database.ts";
import { testEventStore } from "../../support/store/event-store.ts";

const { db } = await testDatabase();
const { store } = await testEventStore();
const vault = openVault(db, "a secret key of more than enough characters");
const anna = "0b9f2d3a-6f0e-4c35-8a9e-0d1f2a3b4c5d";
const subject = `user-${anna}`;

async function follow(): Promise<void> {
  await reset(db, auditEntryProjection);
  for await (const event of store.readAll()) {
    await project(db, auditEntryProjection, [event], context);
  }
}

async function trail(filter = {}): Promise<AuditLine[]> {
  const lines: AuditLine[] = [];
  for await (const line of auditTrail({ db, store, open: vault.open }, filter)) lines.push(line);
  return lines;
}

describe("who did what, when, from where", () => {
  before(async () => {
    const id = "10000000-0000-4000-8000-000000000000";
    const actor: Actor = { userId: anna, alias: "anna", via: "token", tokenId: null };
    const metadata = metadataFor(id, { actor, ip: await vault.seal(subject, "192.0.2.7") });
    const data = { alias: "anna", email: await vault.seal(subject, "anna@example.org") };
    await store.append(subject, "none", [{ type: "UserRegistered", data, id, metadata }]);
    await append(store, subject, { type: "UserAliasChanged", data: { alias: "ann" } });
    for (let n = 0; n < 30; n += 1) await append(store, `parcel-${n}`, sent("Boris"));
    await append(store, subject, { type: "UserAliasChanged", data: { alias: "anne" } });
    await follow();
  });

  it("shows each change with what was there before", async () => {
    const lines = await trail();
    const ofAnna = lines.filter(({ stream }) => stream === subject);

    expect(ofAnna.map(({ type, changes }) => [type, changes])).to.deep.equal([
      [
        "UserRegistered",
        [
          { field: "alias", after: "anna" },
          { field: "email", after: "«personal data»" },
        ],
      ],
      ["UserAliasChanged", [{ field: "alias", before: "anna", after: "ann" }]],
      ["UserAliasChanged", [{ field: "alias", before: "ann", after: "anne" }]],
    ]);
    expect(lines).to.have.length(33);
  });

  it("opens the address", async () => {
    const [line] = await trail({ actorId: anna });
    expect(line).to.deep.include({ ip: "192.0.2.7", type: "UserRegistered" });
    expect(line?.actor.alias).to.equal("anna");
  });

  it("has no address any more once the person was forgotten", async () => {
    await vault.forget(subject);
    const forgotten = openVault(db, "a secret key of more than enough characters");
    const lines: AuditLine[] = [];
    const deps = { db, store, open: forgotten.open };
    for await (const line of auditTrail(deps, { actorId: anna })) lines.push(line);
    expect(lines.map(({ ip }) => ip)).to.deep.equal([null]);
  });
});

describe("what an event changed", () => {
  it("follows from the event itself where it has the old value", () => {
    const data = { branch: "trunk", previousBranch: "main", changedAt: "now", changedById: "x" };
    expect(changesOf("ProjectDefaultBranchChanged", data, {})).to.deep.equal([
      { field: "branch", before: "main", after: "trunk" },
    ]);
    expect(changesOf("BranchUpdated", { branch: "b", before: "1", after: "2" }, {})).to.deep.equal([
      { field: "branch", after: "b" },
      { field: "changed", before: "1", after: "2" },
    ]);
  });

  it("follows from the events before it otherwise, without what stayed the same", () => {
    const before = { title: "Old", url: "u", secret: "sealed.project-1.aaaa" };
    const data = { title: "New", url: "u", secret: "sealed.project-1.bbbb" };
    expect(changesOf("WebhookChanged", data, before)).to.deep.equal([
      { field: "title", before: "Old", after: "New" },
      { field: "secret", before: "«secret»", after: "«secret»" },
    ]);
  });

  it("compares nothing in streams that record many things", () => {
    expect(changesOf("BranchCreated", { branch: "b" }, { branch: "a" })).to.deep.equal([
      { field: "branch", after: "b" },
    ]);
  });
});
