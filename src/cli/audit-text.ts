import type { Change } from "../projections/audit/change.ts";
import type { AuditLine } from "../projections/audit/trail.ts";
import { printable } from "./write.ts";

/** One line a change of the log, for people: when, who, from where, what, and what it changed. */
export function auditText(line: AuditLine): string {
  const { occurredAt, actor, ip, type, stream, changes } = line;
  const who = printable(actor.alias ?? actor.userId ?? actor.via);
  const how = actor.alias === null && actor.userId === null ? "" : ` (${actor.via})`;
  const where = ip === null ? "" : ` from ${printable(ip)}`;
  const what = `${type} ${printable(stream)}`;
  const changeList = changes.map(changeText).join(", ");
  return `${occurredAt.toISOString()}  ${who}${how}${where}  ${what}${changeList && `  ${changeList}`}`;
}

function changeText({ field, before, after }: Change): string {
  if (before === undefined) return `${field}: ${valueText(after)}`;
  return `${field}: ${valueText(before)} → ${valueText(after)}`;
}

const textMax = 200;

function valueText(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "none");
  const short = text.length > textMax ? `${text.slice(0, textMax)}…` : text;
  return printable(short);
}
