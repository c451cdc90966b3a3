import type { Knex } from "knex";
import { eventDigest } from "../../events/core/canonical.ts";
import type { Recorded } from "../../events/core/event.ts";
import type { Sealed } from "../../events/core/sealed.ts";
import { categoryOf, idInStream } from "../../events/core/stream.ts";
import { everyType } from "../core/every-type.ts";
import type { Projection, Tx } from "../core/projection.ts";

/** One a event: enough to find what somebody looks for; what it says is read from the log. */
export type AuditEntryRow = Readonly<{
  position: bigint;
  stream: string;
  revision: bigint;
  type: string;
  actor_id: string | null;
  actor_alias: string | null;
  via: string;
  token_id: string | null;
  /** The project it happened in; null for what happens outside of projects. */
  project_id: string | null;
  /** Opened when somebody asks, so that it is gone when the person is forgotten. */
  ip: Sealed | null;
  occurred_at: Date;
  /** Of the event, see events/canonical.ts: shows which one was changed. */
  digest: Buffer;
}>;

export const auditEntryProjection: Projection = {
  name: "audit_entry",
  version: 1,
  tables: ["audit_entry"],
  async create(tx) {
    await tx.schema.createTable("audit_entry", (table) => {
      table.bigInteger("position").primary();
      table.text("stream").notNullable();
      table.bigInteger("revision").notNullable();
      table.text("type").notNullable();
      table.uuid("actor_id");
      table.text("actor_alias");
      table.text("via").notNullable();
      table.uuid("token_id");
      table.uuid("project_id");
      table.text("ip");
      table.timestamp("occurred_at").notNullable();
      table.binary("digest").notNullable();
      table.unique(["stream", "revision"]);
      table.index(["project_id", "position"]);
      table.index(["actor_id", "position"]);
    });
  },
  types: everyType,
  apply: (tx, event) => applyAll(tx, [event]),
  applyAll,
};

async function applyAll(tx: Tx, events: readonly Recorded[]): Promise<void> {
  const projects = await projectsOfStreams(tx, events);
  const rows = events.map((event) => rowOf(event, projects));
  await tx<AuditEntryRow>("audit_entry").insert(rows).onConflict("position").merge();
}

function rowOf(event: Recorded, projects: Map<string, string>): AuditEntryRow {
  const { position, stream, revision, type, metadata } = event;
  const named = projectNamedBy(event);
  if (named !== undefined) projects.set(stream, named);
  return {
    position,
    stream,
    revision,
    type,
    actor_id: metadata.actor.userId,
    actor_alias: metadata.actor.alias,
    via: metadata.actor.via,
    token_id: metadata.actor.tokenId,
    project_id: projects.get(stream) ?? null,
    ip: metadata.ip,
    occurred_at: new Date(metadata.occurredAt),
    digest: eventDigest(event),
  };
}

const projectStreams = new Set(["project", "repository"]);
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function projectNamedBy({ stream, data }: Recorded): string | undefined {
  const id = projectStreams.has(categoryOf(stream)) ? idInStream(stream) : data["projectId"];
  return typeof id === "string" && uuid.test(id) ? id : undefined;
}

/** The first event of a stream names its project for those that follow. */
async function projectsOfStreams(
  tx: Tx,
  events: readonly Recorded[],
): Promise<Map<string, string>> {
  const unnamed = events.filter((event) => projectNamedBy(event) === undefined);
  const streams = [...new Set(unnamed.map(({ stream }) => stream))];
  if (streams.length === 0) return new Map();
  const rows = await tx("audit_entry")
    .whereIn("stream", streams)
    .whereNotNull("project_id")
    .distinct<{ stream: string; project_id: string }[]>("stream", "project_id");
  return new Map(rows.map((row) => [row.stream, row.project_id]));
}

export type AuditFilter = Readonly<{
  projectId?: string;
  actorId?: string;
  since?: Date;
}>;

/** A page of entries after a position, oldest first. */
export async function listAuditEntries(
  db: Knex,
  filter: AuditFilter,
  after: bigint,
  countMax: number,
): Promise<readonly AuditEntryRow[]> {
  const { projectId, actorId, since } = filter;
  const query = db<AuditEntryRow>("audit_entry").where("position", ">", after);
  if (projectId !== undefined) query.andWhere({ project_id: projectId });
  if (actorId !== undefined) query.andWhere({ actor_id: actorId });
  if (since !== undefined) query.andWhere("occurred_at", ">=", since);
  return query.orderBy("position").limit(countMax).select("*");
}
