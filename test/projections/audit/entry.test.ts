import { expect } from "chai";
import type { AnyEvent } from "../../../src/events/core/event.ts";
import { PackageId } from "../../../src/events/core/ids.ts";
import { packageVersionStream } from "../../../src/events/package/version.ts";
import { packageVersionIdOf } from "../../../src/package/core/coordinates.ts";
import { type AuditEntryRow, auditEntryProjection } from "../../../src/projections/audit/entry.ts";
import { type AuditFilter, listAuditEntries } from "../../../src/projections/audit/entry-query.ts";
import { history, metadataFor } from "../../support/app/history.ts";
import { applyEach, context, project, reset, rowsOf } from "../../support/app/projection.ts";
import { testDatabase } from "../../support/store/database.ts";

const { db } = await testDatabase();

const projectId = "7d1c2b3a-4f5e-4d6c-9b8a-1a2b3c4d5e6f";
const applicationId = "1c9f2d3a-6f0e-4c35-8a9e-0d1f2a3b4c5d";
const authorizationId = "2c9f2d3a-6f0e-4c35-8a9e-0d1f2a3b4c5d";
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

const oldest = (filter: AuditFilter, range: { after?: bigint; limit?: number } = {}) =>
  listAuditEntries(db, filter, { order: "oldest", limit: 100, ...range });
const types = (rows: readonly Pick<AuditEntryRow, "type">[]) => rows.map(({ type }) => type);

type Batches = Parameters<typeof applyEach>[2];

async function feedInTurn(batches: Batches): Promise<void> {
  for (const batch of batches) await project(db, auditEntryProjection, batch, context);
}

describe("the audit trail", () => {
  beforeEach(() => reset(db, auditEntryProjection));

  it("has an entry for every event, of types unknown to this version too", async () => {
    await project(db, auditEntryProjection, log, context);
    const rows = await oldest({});
    expect(types(rows)).to.deep.equal(log.map(({ type }) => type));
    expect(rows[1]).to.deep.include({
      position: 2n,
      stream: `project-${projectId}`,
      revision: 0n,
      actor_id: anna,
      actor_alias: "anna",
      via: "token",
      place_id: projectId,
      occurred_at: new Date("2026-01-02T00:00:00.000Z"),
    });
  });

  it("knows the project of events that do not name it, batch by batch or one by one", async () => {
    const found = async () => types(await oldest({ placeId: projectId }));
    const expected = ["ProjectCreated", "WebhookCreated", "WebhookDeleted", "BranchCreated"];

    await project(db, auditEntryProjection, log, context);
    expect(await found()).to.deep.equal(expected);

    await reset(db, auditEntryProjection);
    for (const one of log) await project(db, auditEntryProjection, [one], context);
    expect(await found()).to.deep.equal(expected);
  });

  it("knows the project of invitations, whose streams have the digest of an address", async () => {
    const stream = "invitation-5d1c2b3a-4f5e-8d6c-9b8a-1a2b3c4d5e6f";
    const invitation = { invitationId: "i", parentId: projectId, parentType: "PROJECT" };
    const invited = history(
      [stream, event("InvitationMade", invitation)],
      [stream, event("InvitationRevoked", { invitationId: "i" })],
      [stream, event("InvitationMade", invitation)],
      [stream, event("InvitationAccepted", { ...invitation, userId: anna })],
    );
    for (const batches of [[invited], invited.map((one) => [one])]) {
      await reset(db, auditEntryProjection);
      await feedInTurn(batches);
      const found = await oldest({ placeId: projectId });
      expect(types(found)).to.deep.equal(invited.map(({ type }) => type));
    }
  });

  it("reads one entry of a stream to know its project, however long the stream is", async () => {
    const changes = Array.from({ length: 2_000 }, () => event("WebhookChanged"));
    const events = [event("WebhookCreated", { projectId }), ...changes];
    const long = history(...events.map((one) => ["webhook-1", one] as const));
    await project(db, auditEntryProjection, long.slice(0, -1), context);
    await db.raw("analyze audit_entry");

    const read = await db.transaction(async (tx) => {
      // What former transactions of the connection did is counted with it for a while.
      const counted = async () => {
        const { rows } = await tx.raw<{ rows: [{ read: string }] }>(
          `select seq_tup_read + idx_tup_fetch as read from pg_stat_xact_user_tables
           where relid = 'audit_entry'::regclass`,
        );
        return Number(rows[0].read);
      };
      const before = await counted();
      await auditEntryProjection.apply(tx, long.slice(-1), context);
      return (await counted()) - before;
    });
    expect(read).to.be.within(1, 20);
    expect(await oldest({ placeId: projectId }, { after: 2_000n })).to.have.length(1);
  });

  it("knows the project of tags of packages and of the key of a repository", async () => {
    const registryId = "9d1c2b3a-4f5e-4d6c-9b8a-1a2b3c4d5e6f";
    const packageId = PackageId.parse("3d1c2b3a-4f5e-4d6c-9b8a-1a2b3c4d5e6f");
    const streamOf = (version: string) =>
      packageVersionStream(packageVersionIdOf(packageId, { version, key: version }));
    const tagged = history(
      [`registryRepository-${registryId}`, event("RegistryRepositoryCreated", { projectId })],
      [
        `registrySigningKey-${registryId}`,
        event("RegistrySigningKeyCreated", { repositoryId: registryId }),
      ],
      [streamOf("1.0.0"), event("PackageVersionCreated", { registryId, packageId })],
      [`package-${packageId}`, event("PackageTagSet", { packageId, tag: "a", version: "1.0.0" })],
      [`package-${packageId}`, event("PackageTagRemoved", { packageId, tag: "a" })],
      [streamOf("sha256:0"), event("PackageVersionCreated", { registryId, packageId })],
      ["containerTag-1", event("ContainerTagSet", { packageId, tag: "a", digest: "sha256:0" })],
      ["containerTag-1", event("ContainerTagRemoved", { packageId, tag: "a" })],
    );
    for (const batches of [[tagged], tagged.map((one) => [one])]) {
      const together = () => applyEach(db, auditEntryProjection, batches);
      for (const feed of [together, () => feedInTurn(batches)]) {
        await reset(db, auditEntryProjection);
        await feed();
        const found = await oldest({ placeId: projectId });
        expect(types(found)).to.deep.equal(types(tagged));
      }
    }
  });

  it("is the same when PostgreSQL looks up the projects while it inserts", async () => {
    const registryId = "9d1c2b3a-4f5e-4d6c-9b8a-1a2b3c4d5e6f";
    const more = history(
      [`registryRepository-${registryId}`, event("RegistryRepositoryCreated", { projectId })],
      [`registryRepository-${registryId}`, event("RegistryRepositoryUpdated")],
      ["packageVersion-1", event("PackageVersionPublished", { registryId })],
      ["packageVersion-1", event("PackageVersionDeleted")],
      [
        "application-1",
        event("OAuthApplicationCreated", { applicationId, details: { name: "CI" } }),
      ],
      ["authorization-1", event("OAuthAuthorizationApproved", { applicationId, authorizationId })],
    );
    await project(db, auditEntryProjection, more, context);
    const expected = await rowsOf(db, auditEntryProjection);
    const places = await db("audit_entry").orderBy("position").pluck("place_id");
    expect(places).to.deep.equal([...Array(4).fill(projectId), null, null]);
    expect(expected["audit_name"]).to.have.length(2);

    for (const batches of [[more], more.map((one) => [one]), [more.slice(0, 2), more.slice(2)]]) {
      await reset(db, auditEntryProjection);
      await applyEach(db, auditEntryProjection, batches);
      expect(await rowsOf(db, auditEntryProjection)).to.deep.equal(expected);
    }
  });

  it("is found by actor and time, page by page", async () => {
    await project(db, auditEntryProjection, log, context);

    const byAnna = await oldest({ actorId: anna });
    expect(types(byAnna)).to.deep.equal(["ProjectCreated", "WebhookDeleted", log[5]!.type]);
    const since = new Date("2026-01-05T00:00:00.000Z");
    expect(await oldest({ since })).to.have.length(2);
    const until = new Date("2026-01-03T00:00:00.000Z");
    expect(await oldest({ until })).to.have.length(2);
    expect(await oldest({ since: until, until: since })).to.have.length(2);
    expect(await oldest({ since: new Date("2027-01-01T00:00:00.000Z") })).to.deep.equal([]);
    const page = await oldest({}, { after: 2n, limit: 2 });
    expect(page.map(({ position }) => position)).to.deep.equal([3n, 4n]);
  });

  it("is found by types, newest first, across types and pages", async () => {
    await project(db, auditEntryProjection, log, context);
    const newest = (filter: AuditFilter, range: { before?: bigint; limit: number }) =>
      listAuditEntries(db, filter, { order: "newest", ...range });
    const wanted = ["ProjectCreated", "BranchCreated", "WebhookDeleted"];

    const first = await newest({ types: wanted }, { limit: 2 });
    expect(types(first)).to.deep.equal(["BranchCreated", "WebhookDeleted"]);
    const second = await newest({ types: wanted }, { before: 4n, limit: 2 });
    expect(types(second)).to.deep.equal(["ProjectCreated"]);
    const inPlace = await newest({ types: wanted, placeId: anna }, { limit: 2 });
    expect(inPlace).to.deep.equal([]);
    expect(await newest({ types: [] }, { limit: 2 })).to.deep.equal([]);
  });

  it("is found by the thing it is about, a branch by its name", async () => {
    await project(db, auditEntryProjection, log, context);
    expect(types(await oldest({ subjectId: "main" }))).to.deep.equal(["BranchCreated"]);
    expect(types(await oldest({ subjectId: "1" }))).to.deep.equal([
      ...["WebhookCreated", "WebhookDeleted", "SomethingOfALaterVersion"],
    ]);
  });

  it("takes names that no index takes whole", async () => {
    const branch = `${"x".repeat(100_000)}\0`;
    const long = history([`repository-${projectId}`, event("BranchCreated", { branch })]);
    await project(db, auditEntryProjection, long, context);
    expect(await oldest({ subjectId: branch })).to.have.length(1);
  });
});
