import type { z } from "zod";
import type { MergeRequestView } from "../../api/merge-request/schema.ts";
import type { Names } from "../common/address.ts";
import { act, button, type Fields, simpleAct, textForm } from "../common/form.ts";
import { areaField, textOf } from "../common/sheet.ts";
import { type Html, html } from "../core/html.ts";
import { formStart } from "../core/once.ts";
import type { PageRoute, Visit } from "../core/route.ts";
import { at, type LocalParams, requestPath } from "./address.ts";
import { afterComment } from "./line-comment.ts";
import type { Rights } from "./rights.ts";

export type Request = z.output<typeof MergeRequestView>;

/** What can be done with a merge request; nothing for who is not logged in. */
export function actionsPiece(
  base: string,
  names: Names,
  request: Request,
  { visit, rights }: Readonly<{ visit: Visit; rights: Rights }>,
): Html | undefined {
  if (visit.session === undefined) return undefined;
  const { mayChange, mayApprove, mayDeleteRefs, mayRenew } = rights;
  const mayMerge = request.mergeRequirements["RIGHTS_TO_MERGE"] === true;
  const to = `${base}/page${requestPath(names, request.localId)}`;
  const { id } = request.status;
  return html`<section aria-label="Actions">
${textForm(`${to}/comment`, visit, { id: "comment", label: "Comment (Markdown)", words: "Comment" })}
</section>
${id === "OPENED" && mayApprove && html`<section aria-labelledby="approve"><h2 id="approve">Approve</h2>${approveForm(`${to}/approve`, visit, { ...rights, sha: request.sourceBranch.hash })}</section>`}
${id === "OPENED" && mayMerge && html`<section aria-labelledby="merge"><h2 id="merge">Merge</h2>${mergePiece(to, request, visit)}</section>`}
${id === "OPENED" && mayRenew && renewPiece(to, request, visit)}
${
  mayChange &&
  html`<div class="actions"><a class="button quiet" href="${to}/edit">Edit</a>
${id === "OPENED" && button(`${to}/close`, visit, "Close merge request")}
${id === "CLOSED" && !request.refsDeleted && button(`${to}/reopen`, visit, "Reopen merge request")}</div>`
}
${id !== "OPENED" && id !== "MERGED" && mayDeleteRefs && !request.refsDeleted && html`<div class="actions">${button(`${to}/refs-delete`, visit, "Delete the commits that the project keeps of it")}</div>`}`;
}

/** The head that the page shows: what is pushed after it is neither approved nor merged. */
const seenHead = (sha: string | null): Html | false =>
  sha !== null && sha !== "" && html`<input type="hidden" name="sha" value="${sha}">`;

type Approving = Pick<Rights, "hasApproved" | "needsPassword"> & Readonly<{ sha: string | null }>;

function approveForm(
  action: string,
  visit: Visit,
  { hasApproved, needsPassword, sha }: Approving,
): Html {
  const field = html`<div class="field"><label for="password">Your password</label>
<input type="password" id="password" name="password" autocomplete="current-password" required></div>`;
  return html`<form method="post" action="${action}">${formStart(visit)}${seenHead(sha)}${needsPassword && !hasApproved && field}
<p><button class="quiet">${hasApproved ? "Take my approval back" : "Approve"}</button></p></form>`;
}

type Choices = Pick<Request, "removeSourceBranch" | "squashCommit"> &
  Readonly<{ mayWait: boolean; waits?: boolean; message?: string; sha: string | null }>;

function mergeForm(action: string, choices: Choices, visit: Visit): Html {
  const { mayWait, waits, removeSourceBranch, squashCommit, message = "", sha } = choices;
  return html`<form method="post" action="${action}">${formStart(visit)}${seenHead(sha)}
<div class="choices"><label><input type="checkbox" name="squashCommit" value="true"${squashCommit && html` checked`}> Squash commits</label>
<label><input type="checkbox" name="removeSourceBranch" value="true"${removeSourceBranch && html` checked`}> Remove the source branch</label>
${mayWait && html`<label><input type="checkbox" name="mergeWhenPipelineSucceeds" value="true"${waits && html` checked`}> Merge when the pipelines succeed</label>`}</div>
<details${message !== "" && html` open`}><summary>Message of the merge commit</summary>
${areaField({ typed: { mergeCommitMessage: [message] } }, { name: "mergeCommitMessage", label: "Message", hint: "Empty: the template of the project.", rows: 4 })}</details>
<p><button>Merge</button></p></form>`;
}

function mergePiece(to: string, request: Request, visit: Visit): Html {
  const { canMerge, mergeWhenPipelineSucceeds: waits } = request;
  if (waits) {
    return html`<p>It is merged as soon as the pipelines succeed.</p>
${button(`${to}/merge-not`, visit, "Do not merge by itself")}`;
  }
  return mergeForm(
    `${to}/merge`,
    { ...request, mayWait: !canMerge, sha: request.sourceBranch.hash },
    visit,
  );
}

/** Both are harmless where the source has all of the target. */
function renewPiece(to: string, { sourceBranch, targetBranch }: Request, visit: Visit): Html {
  const fields = { sha: sourceBranch.hash ?? "" };
  return html`<div class="actions">${button(`${to}/rebase`, visit, html`Rebase on ${targetBranch.id}`, { fields })}
${button(`${to}/update`, visit, html`Merge ${targetBranch.id} into the source`, { fields })}</div>`;
}

const back = (params: LocalParams): string => requestPath(params, params.localId);

/** To the discussion that a form names. */
const backTo = (params: Parameters<typeof back>[0], { discussionUuid = "" }: Fields): string =>
  `${back(params)}${/^[\da-f-]{36}$/i.test(discussionUuid) ? `#d-${discussionUuid}` : ""}`;

const renewing = (verb: "rebase" | "update"): PageRoute =>
  simpleAct({
    path: `${at}/{localId}/${verb}`,
    operationId: `${verb}MergeRequestByPage`,
    apiOperation: `${verb}MergeRequest`,
    body: ({ sha }) => ({ sha: sha || null }),
    back,
  });

const one = (verb: string, operationId: string, apiOperation: string): PageRoute =>
  simpleAct({
    path: `${at}/{localId}/${verb}`,
    operationId,
    apiOperation,
    back,
  });

/** What the box of a form sends for a choice of the request. */
const isChecked = (value: string | undefined): boolean => value === "true";

const mergeOne = simpleAct({
  path: `${at}/{localId}/merge`,
  operationId: "mergeMergeRequestByPage",
  apiOperation: "mergeMergeRequest",
  body: (fields) => ({
    // Not said when it is not checked: the settings of the project may require it.
    ...(isChecked(fields["squashCommit"]) && { squashCommit: true }),
    removeSourceBranch: isChecked(fields["removeSourceBranch"]),
    mergeWhenPipelineSucceeds: isChecked(fields["mergeWhenPipelineSucceeds"]),
    mergeCommitMessage: fields["mergeCommitMessage"] || null,
    sha: fields["sha"] || null,
  }),
  back,
  again({ action, sheet, visit }) {
    const isOn = (name: string) => isChecked(textOf(sheet, name));
    const choices = {
      squashCommit: isOn("squashCommit"),
      removeSourceBranch: isOn("removeSourceBranch"),
      mayWait: true,
      waits: isOn("mergeWhenPipelineSucceeds"),
      message: textOf(sheet, "mergeCommitMessage"),
      sha: textOf(sheet, "sha"),
    };
    return mergeForm(action, choices, visit);
  },
});

const approveOne = simpleAct({
  path: `${at}/{localId}/approve`,
  operationId: "approveMergeRequestByPage",
  apiOperation: "approveMergeRequest",
  body: ({ password, sha }) => ({ password: password || null, sha: sha || null }),
  back,
  again: ({ action, sheet, visit }) =>
    approveForm(action, visit, {
      hasApproved: false,
      needsPassword: true,
      sha: textOf(sheet, "sha"),
    }),
});

const commentOn = simpleAct({
  path: `${at}/{localId}/comment`,
  operationId: "commentOnMergeRequestByPage",
  apiOperation: "createDiscussion",
  textIs: "message",
  body: ({ text, newPath, oldPath, newLine, oldLine }) => ({
    message: text ?? "",
    ...(newPath && { newPath, oldPath, newLine: newLine || 0, oldLine: oldLine || 0 }),
  }),
  back: afterComment,
});

const replyTo = simpleAct({
  path: `${at}/{localId}/reply`,
  operationId: "replyToDiscussionByPage",
  apiOperation: "replyToDiscussion",
  textIs: "message",
  body: ({ text, discussionUuid }) => ({ message: text ?? "", discussionUuid }),
  back: backTo,
});

const settle = (verb: "resolve" | "unresolve"): PageRoute =>
  act({
    path: `${at}/{localId}/${verb}`,
    operationId: `${verb}DiscussionByPage`,
    async run({ params, fields, visit }) {
      const discussionUuid = fields["discussionUuid"] ?? "";
      await visit.operations.run(`${verb}Discussion`, { params: { ...params, discussionUuid } });
    },
    back: backTo,
  });

export const requestActions: readonly PageRoute[] = [
  approveOne,
  commentOn,
  mergeOne,
  one("close", "closeMergeRequestByPage", "closeMergeRequest"),
  one("merge-not", "stopAutoMergeByPage", "stopAutoMerge"),
  one("refs-delete", "deleteMergeRequestRefsByPage", "deleteMergeRequestRefs"),
  one("reopen", "reopenMergeRequestByPage", "reopenMergeRequest"),
  renewing("rebase"),
  renewing("update"),
  replyTo,
  settle("resolve"),
  settle("unresolve"),
];
