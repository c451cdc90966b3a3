import { z } from "zod";

import { Uuid } from "../../../events/core/ids.ts";
import { ApprovalsView } from "../../api/merge-request/approve.ts";
import { MergeRequestView } from "../../api/merge-request/schema.ts";
import { PipelineView } from "../../api/pipeline/view.ts";
import { type Names, projectPath } from "../common/address.ts";
import type { TitledPage } from "../common/form-page.ts";
import type { inProject } from "../common/frame.ts";
import { PageNumber } from "../common/pager.ts";
import { brief, labelPiece, people, person, seen, statusPiece, when } from "../common/piece.ts";
import { projectPage } from "../common/project-page.ts";
import { markdownPiece, pastNotice } from "../common/text.ts";
import { type Html, html } from "../core/html.ts";
import type { PageRoute, Visit } from "../core/route.ts";
import { Optional } from "../issue/issue-page.ts";
import { actionsPiece, type Request } from "./action.ts";
import { at, type LocalParams, requestPath } from "./address.ts";
import { discussionsPiece, oneDiscussionPiece } from "./discussion.ts";
import { requestRights } from "./rights.ts";

const requirementWords: Readonly<Record<string, string>> = {
  LAST_PIPELINE_SUCCESS: "The last pipeline has succeeded, where that is required",
  WORK_NOT_IN_PROGRESS: "It is not a draft",
  RIGHTS_TO_MERGE: "You may merge",
  NO_CONFLICTS: "There are no conflicts",
  BRANCH_NOT_PROTECTED_FOR_USER: "You may change the target branch",
  HAS_ALL_APPROVERS: "It has the approvals that it needs",
  HAS_ALL_CODEOWNERS: "Code owners have approved what they must",
  MERGE_RESULTS_PIPELINE_SUCCESS:
    "The pipeline of the merge result has succeeded, where that is required",
};

const showRequest = projectPage({
  path: `${at}/{localId}`,
  operationId: "showMergeRequest",
  query: z.object({ page: PageNumber, asOf: Optional, discussion: Uuid.optional() }),
  async show({ params, query, visit, names, project, lead, base }, deps) {
    const { operations } = visit;
    const { asOf } = query;
    const request = await operations.one("getMergeRequest", MergeRequestView, { params, asOf });
    const location = { names, revision: project.defaultBranch };
    const text = await markdownPiece(base, request.description, location);
    const rights = await requestRights(visit, params, deps);
    const { mayChange } = rights;
    const view = { names, params, location, number: query.page, asOf, mayChange };
    if (asOf !== undefined) {
      const said = await discussionsPiece(base, view, visit);
      return pastPage(base, { names, request, asOf, text, said, lead });
    }
    const discussions =
      query.discussion === undefined
        ? await discussionsPiece(base, view, visit)
        : await oneDiscussionPiece(base, query.discussion, view, visit);
    const side = await sidePiece(base, names, request, params, visit);
    return {
      title: `${brief(request.title)} (!${request.localId})`,
      lead: (of) =>
        html`${lead("merge-requests")(of)}${requestTabs(of, names, request.localId, "")}`,
      body: () => html`<div class="two"><div>
<section aria-label="Description">${branches(request)}${text}</section>
${request.status.id === "OPENED" && requirements(request)}
${discussions}
${actionsPiece(base, names, request, { visit, rights })}</div>${side}</div>`,
    };
  },
});

const approvedByMax = 20;

const tabs = [
  ["", "Discussion"],
  ["/changes", "Changes"],
  ["/commits", "Commits"],
] as const;

/** The parts of one merge request. */
export const requestTabs = (base: string, names: Names, localId: number, current: string): Html =>
  html`<nav class="tabs" aria-label="Merge request"><ul>${tabs.map(
    ([path, title]) =>
      html`<li><a href="${base}${requestPath(names, localId)}${path}"${path === current && html` aria-current="page"`}>${title}</a></li>`,
  )}</ul></nav>`;

function branches({ sourceBranch, targetBranch, sourceProject, targetProject }: Request): Html {
  const isFork = sourceProject.id !== targetProject.id;
  const from =
    isFork && sourceProject.ownerAlias
      ? `${sourceProject.ownerAlias}/${sourceProject.alias}: `
      : "";
  return html`<p class="hint"><code>${seen(from + sourceBranch.id)}</code>${sourceBranch.isDeleted && " (deleted)"} → <code>${seen(targetBranch.id)}</code></p>`;
}

/** What has to hold before it can be merged, and whether it does. */
function requirements(request: Request): Html {
  const { mergeRequirements, mergeErrors, conflicts, conflictsCount } = request;
  const { lockConflicts, canMerge } = request;
  const lines = Object.entries(mergeRequirements).map(
    ([name, isMet]) =>
      html`<li class="${isMet ? "met" : "unmet"}">${isMet ? "✓" : "✗"} ${requirementWords[name] ?? name}<span class="hidden">: ${isMet ? "met" : "not met"}</span></li>`,
  );
  const files = (title: string, all: readonly string[], count: number) => {
    const paths = all.slice(0, 100);
    const more = count - paths.length;
    return (
      count > 0 &&
      html`<h3>${title}</h3><ul>${paths.map((path) => html`<li><code>${seen(path)}</code></li>`)}${more > 0 && html`<li>${more} more</li>`}</ul>`
    );
  };
  return html`<section aria-labelledby="requirements"><h2 id="requirements">${canMerge ? "It can be merged" : "It cannot be merged yet"}</h2>
<ul class="requirements">${lines}</ul>${mergeErrors.map(({ code, message }) => code !== "merge.requirement" && html`<p>${message}</p>`)}
${request.autoMergeDropped && html`<p>It does not merge by itself any more: ${request.autoMergeDropped.message}</p>`}
${request.hasCommonHistory === false && html`<p>The two branches share no commit.</p>`}${files("Files in conflict", conflicts, conflictsCount)}${files("Files that others have locked", lockConflicts, lockConflicts.length)}</section>`;
}

type Past = Readonly<{
  names: Names;
  request: Request;
  asOf: string;
  text: Html;
  said: Html;
  lead: Awaited<ReturnType<typeof inProject>>["lead"];
}>;

/** The request as it was, without what is known of today alone. */
const pastPage = (base: string, { names, request, asOf, text, said, lead }: Past): TitledPage => ({
  title: `${brief(request.title)} (!${request.localId})`,
  wide: true,
  lead: lead("merge-requests"),
  body: () => html`${pastNotice(base + requestPath(names, request.localId), asOf)}<div class="two"><div>
<section aria-label="Description">${branches(request)}${text}</section>${said}</div>${aboutPiece(base, request)}</div>`,
});

async function sidePiece(
  base: string,
  names: Names,
  request: Request,
  params: LocalParams,
  { operations }: Visit,
): Promise<Html> {
  const { approvedBy, rules } = await operations.one("listMergeRequestApprovals", ApprovalsView, {
    params,
    query: {},
  });
  const pipelines = await operations
    .list("listMergeRequestPipelines", PipelineView, { params, page: { number: 0, size: 3 } })
    .catch(() => ({ items: [] }));
  return aboutPiece(
    base,
    request,
    html`<dt>Approved by</dt><dd>${approvedBy.length === 0 ? "–" : approvedBy.slice(0, approvedByMax).map(({ user, counts }) => html`${person(base, user)}${!counts && " (does not count now)"} `)}</dd>
${rules.map((rule) => ruleLine(base, rule))}<dt>Pipelines</dt><dd>${
      pipelines.items.length === 0
        ? "–"
        : pipelines.items.map(
            ({ localId, status: state }) =>
              html`<a href="${base}${projectPath(names)}/cicd/pipeline/${localId}">#${localId}</a> ${statusPiece(state)} `,
          )
    }</dd>`,
  );
}

type Rule = z.output<typeof ApprovalsView>["rules"][number];

/** What a rule has and needs, and who may still give it. */
function ruleLine(base: string, rule: Rule): Html {
  const { name, approved, minimalApprovals, mayApprove, fulfilled, unmeetable } = rule;
  const who = mayApprove.slice(0, approvedByMax).map((user) => html` ${person(base, user)}`);
  return html`<dt>Rule ${seen(name)}</dt><dd>${approved.length} of ${minimalApprovals}${!fulfilled && unmeetable && ", and those who are left are too few"}${!fulfilled && who.length > 0 && html`; may approve:${who}`}</dd>`;
}

function aboutPiece(base: string, request: Request, today?: Html): Html {
  const { status, createdBy, assignedUsers, reviewers, labels, mergedBy, mergedAt } = request;
  return html`<section class="side" aria-label="About"><dl>
<dt>Status</dt><dd>${statusPiece(status.id, status.title ?? status.id)}${request.workInProgress && " draft"}</dd>
${request.failureReason !== null && html`<dt>Failure</dt><dd>${seen(request.failureReason)}</dd>`}
${request.refsDeleted && html`<dt>Commits</dt><dd>Deleted: there are no changes to show, and it cannot be opened again.</dd>`}
<dt>Author</dt><dd>${person(base, createdBy)}</dd>
<dt>Assigned</dt><dd>${people(base, assignedUsers)}</dd>
<dt>Reviewers</dt><dd>${people(base, reviewers)}</dd>
<dt>Labels</dt><dd>${labels.length === 0 ? "–" : labels.map(labelPiece)}</dd>
${today}
<dt>Created</dt><dd>${when(request.createdAt)}</dd>
<dt>Changed</dt><dd>${when(request.updatedAt)}</dd>
${mergedAt !== null && html`<dt>Merged</dt><dd>${when(mergedAt)}${mergedBy && html` by ${person(base, mergedBy)}`}</dd>`}</dl></section>`;
}

export const requestPages: readonly PageRoute[] = [showRequest];
