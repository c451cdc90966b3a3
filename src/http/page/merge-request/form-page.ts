import type { z } from "zod";

import { MergeRequestView } from "../../api/merge-request/schema.ts";
import { BranchesView } from "../../api/repository/branch.ts";
import { type Names, projectPath } from "../common/address.ts";
import { aliasesOf, labelField, labelsIn, peopleHint, peopleIn } from "../common/choice.ts";
import { drawnForm, type FormPlace, projectForm } from "../common/form-page.ts";
import { areaField, boxes, lineField, selectField, type Typed, textOf } from "../common/sheet.ts";
import { type Html, html } from "../core/html.ts";
import type { PageRoute, Visit } from "../core/route.ts";
import { mustBeAsSeen } from "../issue/form-page.ts";
import { at, requestPath } from "./address.ts";

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
  /** The one that is edited. */
  request?: Request;
  /** Of a fork: where it came from. */
  forkedFromId?: string | null;
}>;

const choices = [
  { value: "workInProgress", words: "It is a draft" },
  { value: "squashCommit", words: "Squash commits" },
  { value: "removeSourceBranch", words: "Remove the source branch once merged" },
] as const;

async function requestForm(place: FormPlace, form: RequestForm): Promise<Html> {
  const { sheet, visit } = place;
  const { names: of, request } = form;
  const labels = await labelField(sheet, of, visit, request?.labels);
  const people = (name: string, label: string) =>
    lineField(sheet, { name, label, hint: peopleHint });
  const drawn = { label: "Merge request", fields, version: request?.updatedAt };
  return drawnForm(
    place,
    drawn,
    html`${await branchFields(place, form)}
${lineField(sheet, { name: "title", label: "Title", required: true })}
${areaField(sheet, {
  name: "description",
  label: "Description (Markdown)",
  lengthMax: descriptionLengthMax,
  ...(request === undefined && { hint: "Empty: the template of the project." }),
})}
${people("reviewers", "Reviewers")}${people("assignedUsers", "Assigned")}${labels}
${boxes(sheet, { name: "choices", label: "Merging", options: choices })}`,
  );
}

async function branchFields({ sheet, visit }: FormPlace, form: RequestForm): Promise<Html> {
  const { names: of, request, forkedFromId } = form;
  const query = { page: 0, size: offeredMax };
  const listed = await visit.operations.one("listBranches", BranchesView, { params: of, query });
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

const newRequest = projectForm({
  path: `${at}/new`,
  operationIds: ["showNewMergeRequest", "createMergeRequestByPage"],
  tab: "merge-requests",
  async show({ names: of, project, sheet, visit, base }) {
    const typed = { targetBranch: [project.defaultBranch], ...sheet.typed };
    const { forkedFromId } = project;
    const back = `${projectPath(of)}/merge-request/list`;
    const place = { base, sheet: { ...sheet, typed }, visit, back, words: "Create merge request" };
    return {
      title: "New merge request",
      body: await requestForm(place, { names: of, forkedFromId }),
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
    const made = await visit.operations.one("createMergeRequest", MergeRequestView, {
      params,
      body,
    });
    const { userAlias: ownerAlias, projectAlias, localId } = made;
    return requestPath({ ownerAlias, projectAlias }, localId);
  },
});

const editRequest = projectForm({
  path: `${at}/{localId}/edit`,
  operationIds: ["showMergeRequestToEdit", "editMergeRequestByPage"],
  tab: "merge-requests",
  async show({ params, names: of, sheet, visit, base }) {
    const request = await visit.operations.one("getMergeRequest", MergeRequestView, { params });
    const filled = sheet.failure === undefined ? { typed: typedOf(request) } : sheet;
    const back = requestPath(of, request.localId);
    const place = { base, sheet: filled, visit, back, words: "Save" };
    const title = `Edit merge request !${request.localId}`;
    return { title, body: await requestForm(place, { names: of, request }) };
  },
  async send({ params, typed, visit }) {
    const request = await visit.operations.one("getMergeRequest", MergeRequestView, { params });
    mustBeAsSeen(typed, request.updatedAt);
    const description = textOf({ typed }, "description");
    const body = { ...(await bodyOf(typed, visit, request)), description };
    await visit.operations.run("editMergeRequest", { params, body });
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
