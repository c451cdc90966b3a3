import { createIssue } from "../../../commands/issue/create-issue.ts";
import { issue, issueNotFound } from "../../../commands/issue/issue.ts";
import { type IssueChanges, IssueId, IssueStatus } from "../../../events/issue/issue.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { issueProjection } from "../../../projections/issue/issue.ts";
import {
  findIssue,
  findIssueById,
  listIssues,
  type NumberedIssueRow,
} from "../../../projections/issue/list.ts";
import { labelProjection } from "../../../projections/label/label.ts";
import { atLeast, type Role } from "../../access/access.ts";
import { commandDeps, projectStampOf } from "../../core/command-deps.ts";
import type { Deps } from "../../core/deps.ts";
import { oneInProject } from "../../core/one-below.ts";
import type { RequestFor } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { chosenLabels } from "../label/choice.ts";
import { chosenAssignees, EditedIssue, NewIssue } from "./body.ts";
import { IssueQuery, issueFilter } from "./query.ts";
import { IssueView, issueViews } from "./view.ts";

const tag = "Issues";
const path = "/project/{ownerAlias}/{projectAlias}/issue";

export const reading = { tag, scope: "PROJECT_READ", access: "project:GUEST" } as const;
/** Everybody who reads a project may create issues and comment; who edits what is decided below. */
export const writing = { tag, scope: "PROJECT_WRITE", access: "project:GUEST" } as const;

const getIssue = route({
  ...reading,
  method: "get",
  path: `${path}/{localId}`,
  operationId: "getIssue",
  summary: "Get an issue",
  asOf: { readModels: [labelProjection], numbered: { kind: "ISSUE", readModel: issueProjection } },
  reply: IssueView,
  handle: async ({ params, request }, deps) =>
    issueView(await mustFindIssue(deps, request, params.localId), request, deps),
});

const getIssues = route({
  ...reading,
  method: "get",
  path,
  operationId: "listIssues",
  summary: "List the issues of a project",
  description: "The newest first, unless the parameters say otherwise.",
  query: IssueQuery,
  list: "issueModelList",
  asOf: { readModels: [issueProjection, labelProjection], numbers: ["ISSUE"] },
  reply: IssueView,
  async handle({ query, page, request: { project } }, { db }) {
    const filter = await issueFilter(db, project.id, query);
    if (filter === undefined) return { items: [], totalElements: 0 };
    const { rows, total } = await listIssues(db, project.id, filter, page);
    return { items: await issueViews(db, rows, project), totalElements: total };
  },
});

const postIssue = route({
  ...writing,
  method: "post",
  path,
  operationId: "createIssue",
  summary: "Create an issue",
  description: "It is OPEN unless another status is given.",
  body: NewIssue,
  reply: IssueView,
  async handle({ body, request }, deps) {
    const { project, commandId } = request;
    const issueId = IssueId.parse(deterministicId(commandId, "issue"));
    const details = {
      title: body.title,
      description: body.description,
      status: body.status?.id ?? IssueStatus.enum.OPEN,
      assigneeIds: await chosenAssignees(deps.db, project, body.assignedUsers ?? []),
      labelIds: await chosenLabels(deps.db, project.id, body.labels ?? []),
    };
    const command = {
      type: "CreateIssue",
      issueId,
      details,
      ...projectStampOf(request, deps),
    } as const;
    await request.executeProcess((metadata) => createIssue(commandDeps(deps), command, metadata));
    const row = await findIssueById(deps.db, issueId);
    if (row === undefined) throw issueNotFound();
    return issueView(row, request, deps);
  },
});

const putIssue = route({
  ...writing,
  method: "put",
  path: `${path}/{localId}/edit`,
  operationId: "editIssue",
  summary: "Edit an issue",
  description: "For its author, and from the role REPORTER on. What is left out stays.",
  body: EditedIssue,
  reply: IssueView,
  async handle({ params: { localId }, body, request }, deps) {
    const { db } = deps;
    const { project } = request;
    const row = await mustFindIssue(deps, request, localId);
    mustBeAuthorOr("REPORTER", row.author_id, request);
    const { title, description, assignedUsers, labels } = body;
    const changes: IssueChanges = {
      ...(title !== undefined && { title }),
      ...(description !== undefined && { description }),
      ...(body.status && { status: body.status.id }),
      ...(assignedUsers && {
        assigneeIds: await chosenAssignees(db, project, assignedUsers, row.assignee_ids),
      }),
      ...(labels && { labelIds: await chosenLabels(db, project.id, labels) }),
    };
    const command = { type: "EditIssue", changes, ...projectStampOf(request, deps) } as const;
    await request.execute(issue, row.id, command);
    return issueView(await mustFindIssue(deps, request, localId), request, deps);
  },
});

const removeIssue = route({
  ...writing,
  method: "delete",
  path: `${path}/{localId}/delete`,
  operationId: "deleteIssue",
  summary: "Delete an issue and its comments",
  description: "For its author and administrators of the project. Its number is not used again.",
  reply: "empty",
  async handle({ params: { localId }, request }, deps) {
    const row = await mustFindIssue(deps, request, localId);
    mustBeAuthorOr("ADMIN", row.author_id, request);
    const command = { type: "DeleteIssue", ...projectStampOf(request, deps) } as const;
    await request.execute(issue, row.id, command);
  },
});

export const issueRoutes: readonly Route[] = [
  getIssue,
  getIssues,
  postIssue,
  putIssue,
  removeIssue,
];

type Reading = Pick<RequestFor<"project:GUEST">, "project">;
export type Writing = RequestFor<"project:GUEST">;

/** @throws Refusal 404 `issue.not_found` */
export const mustFindIssue = oneInProject(findIssue, issueNotFound);

type Caller = Pick<Writing, "userId" | "role">;

const isAuthorOr = (needed: Role, authorId: string, { userId, role }: Caller): boolean =>
  userId === authorId || atLeast(role, needed);

export const mayEditIssue = (issue: NumberedIssueRow, caller: Caller): boolean =>
  isAuthorOr("REPORTER", issue.author_id, caller);

/** @throws Refusal 403 `auth.role_missing` */
export function mustBeAuthorOr(needed: Role, authorId: string, caller: Caller): void {
  if (isAuthorOr(needed, authorId, caller)) return;
  const message = `This needs the role ${needed} in the project, or to be the author.`;
  throw new Refusal("forbidden", "auth.role_missing", message, { extra: { role: needed } });
}

async function issueView(row: NumberedIssueRow, { project }: Reading, { db }: Pick<Deps, "db">) {
  const [shown] = await issueViews(db, [row], project);
  if (shown === undefined) throw issueNotFound();
  return shown;
}
