import { auditJson } from "../../../projections/audit/format.ts";
import { type AuditDeps, auditPage } from "../../../projections/audit/trail.ts";
import { membersAmong } from "../../../projections/team/member.ts";
import { type OwnerScope, ownerScopes, parentOf, writingAt } from "../../access/owner-scope.ts";
import { Streamed } from "../../core/answer.ts";
import type { Deps } from "../../core/deps.ts";
import type { RequestFor } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { exportOf } from "./export.ts";
import { AuditQuery, filterOf, pageOf } from "./query.ts";
import { AuditEntryList } from "./view.ts";

const description =
  "Newest first. `page.before` gets the next older page, `page.after` what happened since; neither " +
  "moves while events arrive. Secrets and personal data appear as their kind.";

const shared = {
  method: "get",
  query: AuditQuery,
  reply: AuditEntryList,
  alsoAs: ["application/x-ndjson", "text/csv"],
  errors: [404],
} as const;

type AuditRequest = Readonly<{
  query: AuditQuery;
  request: RequestFor<"user">;
  /** The requested project, team, company or account; all of the log without. */
  placeId?: string;
  addressesOf?: AuditDeps["addressesOf"];
}>;

async function answer({ query, request, placeId, addressesOf }: AuditRequest, deps: Deps) {
  const { db, store, vault } = deps;
  const audit = { db, store, open: vault.open, ...(addressesOf && { addressesOf }) };
  const filter = await filterOf(deps, query, placeId);
  const { format } = query;
  if (format !== "json") {
    return new Streamed(exportOf(audit, { filter, range: pageOf(query), format, request }));
  }
  const { lines, hasOlder } = await auditPage(audit, filter, pageOf(query));
  const [newest, oldest] = [lines[0]?.position, lines.at(-1)?.position];
  return {
    _embedded: { auditEntryList: lines.map(auditJson) },
    page: {
      size: query.size,
      before: hasOlder && oldest !== undefined ? String(oldest) : null,
      after: newest === undefined ? (query.after ?? null) : String(newest),
    },
  };
}

const getInstanceAudit = route({
  ...shared,
  path: "/admin/audit",
  operationId: "listAudit",
  summary: "List what happened on the instance: who, what, when, from where, before and after",
  description,
  tag: "Administration",
  scope: "USER_WRITE",
  access: "admin",
  handle: ({ query, request }, deps) => answer({ query, request }, deps),
});

const getOwnAudit = route({
  ...shared,
  path: "/user/audit",
  operationId: "listOwnAudit",
  summary: "List what happened to one's own account",
  description: `${description} Addresses of others are not shown.`,
  tag: "User",
  scope: "USER_READ",
  access: "user",
  notForApplications: true,
  handle: ({ query, request }, deps) => {
    const addressesOf = async () => new Set<string>([request.userId]);
    return answer({ query, request, placeId: request.userId, addressesOf }, deps);
  },
});

function listScopeAudit(ownerScope: OwnerScope): Route {
  return route({
    ...writingAt(ownerScope, "ADMIN"),
    ...shared,
    path: `${ownerScope.base}/audit`,
    operationId: `list${ownerScope.noun}Audit`,
    summary: `List what happened in a ${ownerScope.resource}`,
    description: `${description} Addresses are shown of its members alone.`,
    handle: ({ query, request }, deps) => {
      const { id, ownerUserId } = parentOf(request);
      const parents = [id, ...parentsAbove(request)];
      const addressesOf = async (userIds: readonly string[]) =>
        new Set([...(await membersAmong(deps.db, userIds, parents)), ownerUserId]);
      return answer({ query, request, placeId: id, addressesOf }, deps);
    },
  });
}

/** Whose members are members here too. */
function parentsAbove(
  request: RequestFor<"project:ADMIN"> | RequestFor<"team:ADMIN"> | RequestFor<"company:ADMIN">,
): readonly string[] {
  if ("project" in request) {
    const { owner_id, owner_company_id } = request.project;
    return [owner_id, owner_company_id].filter((id) => id !== null);
  }
  if (!("team" in request)) return [];
  const { owner_company_id } = request.team;
  return owner_company_id === null ? [] : [owner_company_id];
}

export const auditRoutes: readonly Route[] = [
  getInstanceAudit,
  getOwnAudit,
  ...ownerScopes.map(listScopeAudit),
];
