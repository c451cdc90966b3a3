import { Readable } from "node:stream";
import { Limit } from "../../../platform/limit.ts";
import type { AuditFilter } from "../../../projections/audit/entry-query.ts";
import { auditCsv, auditCsvHead, auditJson } from "../../../projections/audit/format.ts";
import {
  type AuditDeps,
  type AuditPageRequest,
  auditTrail,
} from "../../../projections/audit/trail.ts";
import type { StreamReply } from "../../core/answer.ts";
import type { RequestFor } from "../../core/request.ts";

type Export = Readonly<{
  filter: AuditFilter;
  range: AuditPageRequest;
  format: "jsonl" | "csv";
  request: RequestFor<"user">;
}>;

/** An export holds a slot until its reader has read it. */
const exports = new Limit({ name: "audit.exports", total: 8, share: 2, whenFull: "wait" });

/** Everything that fits, newest first, as fast as the client reads it. Rights are checked again meanwhile. */
export function exportOf(deps: AuditDeps, order: Export): StreamReply {
  const isCsv = order.format === "csv";
  return {
    body: Readable.from(lines(deps, order), { objectMode: false }),
    type: isCsv ? "text/csv; charset=utf-8; header=present" : "application/x-ndjson",
    fileName: `audit.${order.format}`,
  };
}

async function* lines(
  deps: AuditDeps,
  { filter, range, format, request }: Export,
): AsyncGenerator<string> {
  const { leave } = await exports.enter({ caller: request.userId, signal: request.signal });
  try {
    if (format === "csv") yield `${auditCsvHead}\r\n`;
    const { before, after } = range;
    const trail = auditTrail(deps, filter, {
      ...(before !== undefined && { before }),
      ...(after !== undefined && { after }),
      order: "newest",
      beforePage: request.mustStillMay,
    });
    for await (const line of trail) {
      yield format === "csv" ? `${auditCsv(line)}\r\n` : `${JSON.stringify(auditJson(line))}\n`;
    }
  } finally {
    leave();
  }
}
