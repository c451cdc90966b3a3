import { z } from "zod";

import { MergeRequestView } from "../../merge-request/schema.ts";
import { type Html, html } from "../../page/html.ts";
import { formStart } from "../../page/once.ts";
import type { PageRoute, Visit } from "../../page/route.ts";
import { BranchesView } from "../../repository/branch.ts";
import { type Names, projectPath } from "../common/address.ts";
import { aliasesOf, labelField, labelsIn, peopleHint, peopleIn } from "../common/choice.ts";
import { formPages } from "../common/form-page.ts";
import { inProject } from "../common/frame.ts";
import {
  areaField,
  boxes,
  lineField,
  type Sheet,
  selectField,
  sheetNotice,
  type Typed,
  textOf,
} from "../common/sheet.ts";
import { baseOf } from "../common/text.ts";
import { mustBeAsSeen } from "../issue/form-page.ts";
import { at, LocalParams, names, requestPath } from "./address.ts";

type Request = z.output<typeof MergeRequestView>;

/** So many branches are offered; any other is typed. */
const offeredMax = 50;
const descriptionLengthMax = 100_000;

const fields = [
  ...["title", "description", "sourceBranch", "targetBranch", "targetProject"],
  ...["reviewers", "assignedUsers", "labels", "choices"],
];

type RequestForm = Readonly<{
  names: Names;
  sheet: Sheet;
  visit: Visit;
  /** The one that is edited. */
  request?: Request;
  /** Of a fork: where it came from. */
  forkedFromId?: string | null;
  back: string;
  words: string;
}>;

const choices = [
  { value: "workInProgress", words: "It is a draft" },
  { value: "squashCommit", words: "Squash commits" },
  { value: "removeSourceBranch", words: "Remove the source branch once merged" },
] as const;

async function requestForm(base: string, form: RequestForm): Promise<Html> {
  const { names: of, sheet, visit, request, back, words } = form;
  const labels = await labelField(sheet, of, visit, request?.labels);
  const people = (name: string, label: string) =>
    lineField(sheet, { name, label, hint: peopleHint });
  return html`<section aria-label="Merge request">${sheetNotice(sheet, fields)}
<form method="post" action="${base}${visit.here.split("?", 1)[0]}">${formStart(visit)}
${request && html`<input type="hidden" name="updatedAt" value="${request.updatedAt}">`}
${await branchFields(form)}
${lineField(sheet, { name: "title", label: "Title", required: true })}
${areaField(sheet, {
  name: "description",
  label: "Description (Markdown)",
  lengthMax: descriptionLengthMax,
  ...(request === undefined && { hint: "Empty: the template of the project." }),
})}
${people("reviewers", "Reviewers")}${people("assignedUsers", "Assigned")}${labels}
${boxes(sheet, { name: "choices", label: "Merging", options: choices })}
<p class="actions"><button>${words}</button> <a href="${base}${back}">Cancel</a></p></form></section>`;
}

async function branchFields(form: RequestForm): Promise<Html> {
  const { names: of, sheet, visit, request, forkedFromId } = form;
  const query = { page: 0, size: offeredMax };
  const listed = await visit.ask.one("listBranches", BranchesView, { params: of, query });
  const known = "_embedded" in listed ? (listed._embedded["branchList"] ?? []) : [];
  const options = known.map(({ name }) => name);
  const into = [
    { value: "", words: "this project" },
    { value: forkedFromId ?? "", words: "the project that it was forked from" },
  ];
  return html`${
    request === undefined &&
    lineField(sheet, { name: "sourceBranch", label: "From branch", required: true, options })
  }
${forkedFromId && selectField(sheet, { name: "targetProject", label: "Into a branch of", options: into })}
${lineField(sheet, { name: "targetBranch", label: "Into branch", required: true, options })}`;
}

const newRequest = formPages({
  path: `${at}/new`,
  operationIds: ["showNewMergeRequest", "createMergeRequestByPage"],
  params: z.object(names),
  async show({ params, sheet, visit }, deps) {
    const { names: of, project, lead } = await inProject(visit.ask, params);
    const typed = { targetBranch: [project.defaultBranch], ...sheet.typed };
    const { forkedFromId } = project;
    const back = `${projectPath(of)}/merge-request/list`;
    const filled = { names: of, sheet: { ...sheet, typed }, visit, forkedFromId, back };
    const body = await requestForm(baseOf(deps), { ...filled, words: "Create merge request" });
    return {
      title: "New merge request",
      wide: true,
      lead: lead("merge-requests"),
      body: () => body,
    };
  },
  async send({ params, typed, visit }) {
    const targetProject = textOf({ typed }, "targetProject");
    const description = textOf({ typed }, "description");
    const body = {
      ...(await bodyOf(typed, visit)),
      description: description.trim() === "" ? null : description,
      sourceBranch: { id: textOf({ typed }, "sourceBranch") },
      ...(targetProject !== "" && { targetProject: { id: targetProject } }),
    };
    const made = await visit.ask.one("createMergeRequest", MergeRequestView, { params, body });
    const { userAlias: ownerAlias, projectAlias, localId } = made;
    return requestPath({ ownerAlias, projectAlias }, localId);
  },
});

const editRequest = formPages({
  path: `${at}/{localId}/edit`,
  operationIds: ["showMergeRequestToEdit", "editMergeRequestByPage"],
  params: LocalParams,
  async show({ params, sheet, visit }, deps) {
    const { names: of, lead } = await inProject(visit.ask, params);
    const request = await visit.ask.one("getMergeRequest", MergeRequestView, { params });
    const filled = sheet.failure === undefined ? { typed: typedOf(request) } : sheet;
    const back = requestPath(of, request.localId);
    const form = { names: of, sheet: filled, visit, request, back, words: "Save" };
    const body = await requestForm(baseOf(deps), form);
    const title = `Edit merge request !${request.localId}`;
    return { title, wide: true, lead: lead("merge-requests"), body: () => body };
  },
  async send({ params, typed, visit }) {
    const request = await visit.ask.one("getMergeRequest", MergeRequestView, { params });
    mustBeAsSeen(typed, request.updatedAt);
    const description = textOf({ typed }, "description");
    const body = { ...(await bodyOf(typed, visit, request)), description };
    await visit.ask.run("editMergeRequest", { params, body });
    return requestPath(params, params.localId);
  },
});

const typedOf = (request: Request): Typed => ({
  title: [request.title],
  description: [request.description],
  targetBranch: [request.targetBranch.id],
  reviewers: [aliasesOf(request.reviewers)],
  assignedUsers: [aliasesOf(request.assignedUsers)],
  labels: request.labels.map(({ id }) => id),
  choices: choices.flatMap(({ value }) => (request[value] ? [value] : [])),
});

async function bodyOf(typed: Typed, visit: Visit, request?: Request) {
  const chosen = new Set(typed["choices"]);
  // Those left as they are stay so: settings of the project, and a title of a draft, may require them.
  const changed = choices.filter(({ value }) => chosen.has(value) !== (request?.[value] ?? false));
  return {
    title: textOf({ typed }, "title"),
    targetBranch: { id: textOf({ typed }, "targetBranch") },
    reviewers: await peopleIn(typed, "reviewers", visit, request?.reviewers),
    assignedUsers: await peopleIn(typed, "assignedUsers", visit, request?.assignedUsers),
    labels: labelsIn(typed),
    ...Object.fromEntries(changed.map(({ value }) => [value, chosen.has(value)])),
  };
}

export const requestFormPages: readonly PageRoute[] = [...newRequest, ...editRequest];
