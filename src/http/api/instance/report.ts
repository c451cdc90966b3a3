import { z } from "zod";
import { report } from "../../../commands/instance/report.ts";
import { ParentType } from "../../../events/core/role.ts";
import { Sealed } from "../../../events/core/sealed.ts";
import { ReportReason } from "../../../events/instance/report.ts";
import { userSubject } from "../../../events/user/user.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { findReport, listReports, type ReportRow } from "../../../projections/instance/report.ts";
import { findParent } from "../../../projections/team/owner-scope.ts";
import { findUserById } from "../../../projections/user/user.ts";
import { accessAt, type OwnerScope, ownerScopes, parentOf } from "../../access/owner-scope.ts";
import type { Deps } from "../../core/deps.ts";
import { listed } from "../../core/paging.ts";
import { type Route, route } from "../../core/route.ts";
import { instant, several } from "../../core/schema.ts";
import { toView } from "../../core/view.ts";

const textMax = 4_000;

const ReportView = z
  .object({
    id: z.uuid(),
    subjectType: ParentType,
    subjectId: z.uuid(),
    subjectPath: z.string().nullable().meta({ description: "Null once it was deleted." }),
    reporter: z.string().nullable().meta({ description: "Alias." }),
    reason: ReportReason,
    text: z.string().nullable(),
    status: z.enum(["OPEN", "CLOSED"]),
    createdAt: instant(),
    closedAt: instant().nullable(),
  })
  .meta({ id: "Report" });

/** Reports of projects, teams and companies: the same operation at each. */

function file(ownerScope: OwnerScope): Route {
  return route({
    method: "post",
    path: `${ownerScope.base}/report`,
    operationId: `report${ownerScope.noun}`,
    summary: `Report a ${ownerScope.resource} to the administrators`,
    description: "While `enableReports` is on.",
    tag: ownerScope.tag,
    scope: "USER_WRITE",
    access: accessAt(ownerScope, "GUEST"),
    body: z
      .object({ reason: ReportReason, text: z.string().trim().max(textMax).optional() })
      .meta({ id: "NewReport" }),
    reply: z.object({ id: z.uuid() }).meta({ id: "FiledReport" }),
    async handle({ body, request }, deps) {
      const { vault, now } = deps;
      if (!(await deps.settings()).enableReports) {
        const message = "Reports are switched off on this instance.";
        throw new Refusal("forbidden", "report.disabled", message);
      }
      const { id: parentId, type: parentType } = parentOf(request);
      const { userId: reporterId, commandId } = request;
      const reportId = deterministicId("report", commandId);
      const words = body.text ?? "";
      const text = words === "" ? null : await vault.seal(userSubject(reporterId), words);
      const filed = { reportId, parentId, parentType, reporterId, reason: body.reason, text };
      const command = { type: "FileReport", report: filed, at: now().toISOString() } as const;
      const id = deterministicId("report", parentId, reporterId);
      await request.execute(report, id, command);
      return { id: reportId };
    },
  });
}

const administration = { tag: "Administration", scope: "USER_WRITE", access: "admin" } as const;

const getReports = route({
  ...administration,
  method: "get",
  path: "/admin/report",
  operationId: "listReports",
  summary: "List what users reported",
  query: z.object({ status: several(z.enum(["OPEN", "CLOSED"])) }),
  list: "reportList",
  reply: ReportView,
  handle({ query: { status }, page }, deps) {
    const open = status?.length === 1 ? status[0] === "OPEN" : undefined;
    return listed(listReports(deps.db, { open, ...page }), (row) => viewOf(row, deps));
  },
});

const closeReport = route({
  ...administration,
  method: "post",
  path: "/admin/report/{reportUuid}/close",
  operationId: "closeReport",
  summary: "Close a report",
  reply: ReportView,
  async handle({ params, request }, deps) {
    const { db, now } = deps;
    const row = await findReport(db, params.reportUuid);
    if (row === undefined) throw notFound();
    const at = now().toISOString();
    const command = { type: "CloseReport", reportId: row.id, by: request.userId, at } as const;
    await request.execute(report, row.pair_id, command);
    return viewOf((await findReport(db, row.id)) ?? row, deps);
  },
});

async function viewOf(row: ReportRow, { db, vault }: Deps): Promise<z.input<typeof ReportView>> {
  const parent = await findParent(db, row.parent_type, row.parent_id);
  return toView(ReportView, row, {
    subjectType: row.parent_type,
    subjectId: row.parent_id,
    subjectPath: parent?.path ?? null,
    reporter: (await findUserById(db, row.reporter_id))?.alias ?? null,
    text: row.text === null ? null : await vault.open(Sealed.parse(row.text)),
    status: row.closed_at === null ? "OPEN" : "CLOSED",
  });
}

const notFound = (): Refusal => new Refusal("not_found", "report.not_found", "Report not found.");

export const reportRoutes: readonly Route[] = [...ownerScopes.map(file), getReports, closeReport];
