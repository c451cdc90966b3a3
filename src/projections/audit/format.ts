import { clipText } from "../../platform/storable-text.ts";
import type { Change } from "./change.ts";
import type { AuditLine } from "./trail.ts";

/** Longer values are cut: an entry shows what changed, and a description may be a book. */
const valueLengthMax = 16_384;

/** One entry as it is answered and exported. Positions are text: they may pass 2^53 - 1. */
export function auditJson(line: AuditLine) {
  const { actor, subject, changes, occurredAt, position, ip, ...rest } = line;
  const { type, eventId, stream, tokenName, correlationId, causationId } = rest;
  const { userId, alias, via } = actor;
  return {
    position: String(position),
    eventId,
    type,
    occurredAt: occurredAt.toISOString(),
    actor: { userId, alias, via },
    tokenName,
    ip,
    stream,
    subject,
    changes: changes.map(shortened),
    correlationId,
    causationId,
  };
}

function shortened({ field, before, after }: Change): Change {
  return {
    field,
    ...(before !== undefined && { before: short(before) }),
    ...(after !== undefined && { after: short(after) }),
  };
}

function short(value: unknown): unknown {
  if (typeof value === "string") {
    if (value.length <= valueLengthMax) return value;
    return `${clipText(value, valueLengthMax)}…`;
  }
  const { length } = JSON.stringify(value) ?? "";
  return length <= valueLengthMax ? value : `«${length} characters»`;
}

const columns = [
  ...["position", "occurredAt", "type", "actorId", "actorAlias", "via", "tokenName", "ip", "kind"],
  ...["subjectId", "subjectTitle", "changes", "stream", "eventId", "correlationId", "causationId"],
];

/** First line of the CSV form (RFC 4180). */
export const auditCsvHead = columns.join(",");

/** One entry as a line of CSV; `changes` is JSON. */
export function auditCsv(line: AuditLine): string {
  const { actor, subject, changes, ...entry } = auditJson(line);
  const cells = [
    ...[entry.position, entry.occurredAt, entry.type, actor.userId, actor.alias, actor.via],
    ...[entry.tokenName, entry.ip, subject.kind, subject.id, subject.title],
    ...[JSON.stringify(changes), entry.stream, entry.eventId],
    ...[entry.correlationId, entry.causationId],
  ];
  return cells.map((cell) => csvCell(cell ?? "")).join(",");
}

/** Spreadsheets run what begins like a formula, some also in full width: a quote before it keeps it a text. */
function csvCell(text: string): string {
  const safe = /^[=+\-@\t\r\n＝＋－＠]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
