import { expect } from "chai";
import type { AnyEvent } from "../../../src/events/core/event.ts";
import {
  type AuditEntryRow,
  auditEntryProjection,
  listAuditEntries,
} from "../../../src/projections/audit/entry.ts";
import { project } from "../../../src/projections/core/projection.ts";
import { testDatabase } from "../../support/database.ts";
import { history, metadataFor } from "../../support/history.ts";
import { context, reset } from "../../support/projection.ts";

const { db } = await testDatabase();

const projectId = "7d1c2b3a-4f5e-4d6c-9b8a-1a2b3c4d5e6f";
const anna = "0b9f2d3a-6f0e-4c35-8a9e-0d1f2a3b4c5d";
const event = (type: string, data: Record<string, unknown> = {}): AnyEvent => ({ type, data });
const log = history(
  [`user-${anna}`, event("UserRegistered")],
  [`project-${projectId}`, event("ProjectCreated", { projectId })],
  ["webhook-1", event("WebhookCreated", { projectId })],
  ["webhook-1", event("WebhookDeleted")],
  [`repository-${projectId}`, event("BranchCreated", { branch: "main" })],
  ["later-1", event("SomethingOfALaterVersion")],
).map((recorded, index) => {
  const id = `${index}0000000-0000-4000-8000-000000000000`;
  const actor = { userId: index % 2 ? anna : null, alias: "anna", via: "token", tokenId: null };
  const occurredAt = `2026-01-0${index + 1}T00:00:00.000Z`;
  return { ...recorded, metadata: { ...metadataFor(id), actor, occurredAt } as const };
}) as ReturnType<typeof history>;

const types = (rows: readonly AuditEntryRow[]) => rows.map(({ type }) => type);

describe("the audit trail", () => {
  beforeEach(() => reset(db, auditEntryProjection));

  it("has an entry for every event, of types unknown to this version too", async () => {
    await project(db, auditEntryProjection, log, context);
    const rows = await listAuditEntries(db, {}, -1n, 100);
    expect(types(rows)).to.deep.equal(log.map(({ type }) => type));
    expect(rows[1]).to.deep.include({
      position: 2n,
      stream: `project-${projectId}`,
      revision: 0n,
      actor_id: anna,
      actor_alias: "anna",
      via: "token",
      project_id: projectId,
      occurred_at: new Date("2026-01-02T00:00:00.000Z"),
    });
  });

  it("knows the project of events that do not name it, batch by batch or one by one", async () => {
    const found = async () => types(await listAuditEntries(db, { projectId }, -1n, 100));
    const expected = ["ProjectCreated", "WebhookCreated", "WebhookDeleted", "BranchCreated"];

    await project(db, auditEntryProjection, log, context);
    expect(await found()).to.deep.equal(expected);

    await reset(db, auditEntryProjection);
    for (const one of log) await project(db, auditEntryProjection, [one], context);
    expect(await found()).to.deep.equal(expected);
  });

  it("is found by actor and time, page by page", async () => {
    await project(db, auditEntryProjection, log, context);

    const byAnna = await listAuditEntries(db, { actorId: anna }, -1n, 100);
    expect(types(byAnna)).to.deep.equal(["ProjectCreated", "WebhookDeleted", log[5]!.type]);
    const since = new Date("2026-01-05T00:00:00.000Z");
    expect(await listAuditEntries(db, { since }, -1n, 100)).to.have.length(2);
    const page = await listAuditEntries(db, {}, 2n, 2);
    expect(page.map(({ position }) => position)).to.deep.equal([3n, 4n]);
  });
});
