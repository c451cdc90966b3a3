import { z } from "zod";

import { IssueStatus } from "../../../events/issue/issue.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { textLengthMax } from "../../issue/body.ts";
import { IssueView } from "../../issue/view.ts";
import { type Html, html } from "../../page/html.ts";
import { formStart } from "../../page/once.ts";
import type { PageRoute, Visit } from "../../page/route.ts";
import type { Names } from "../common/address.ts";
import { aliasesOf, labelField, labelsIn, peopleHint, peopleIn } from "../common/choice.ts";
import { formPages } from "../common/form-page.ts";
import { inProject } from "../common/frame.ts";
import {
  areaField,
  lineField,
  type Sheet,
  selectField,
  sheetNotice,
  type Typed,
  textOf,
} from "../common/sheet.ts";
import { baseOf } from "../common/text.ts";
import { at, IssueParams, issuePath, issuesPath, names } from "./address.ts";

type Issue = z.output<typeof IssueView>;

const fields = ["title", "description", "assignedUsers", "labels", "status"];

type IssueForm = Readonly<{
  names: Names;
  sheet: Sheet;
  visit: Visit;
  /** The one that is edited. */
  issue?: Issue;
  /** Where it leads when nothing is sent. */
  back: string;
  words: string;
}>;

async function issueForm(base: string, form: IssueForm): Promise<Html> {
  const { names: of, sheet, visit, issue, back, words } = form;
  const labels = await labelField(sheet, of, visit, issue?.labels);
  const statuses = IssueStatus.options.map((value) => ({
    value,
    words: value.replaceAll("_", " ").toLowerCase(),
  }));
  const people = { name: "assignedUsers", label: "Assigned", hint: peopleHint };
  return html`<section aria-label="Issue">${sheetNotice(sheet, fields)}
<form method="post" action="${base}${visit.here.split("?", 1)[0]}">${formStart(visit)}
${issue && html`<input type="hidden" name="updatedAt" value="${issue.updatedAt}">`}
${lineField(sheet, { name: "title", label: "Title", required: true })}
${areaField(sheet, { name: "description", label: "Description (Markdown)", required: true, lengthMax: textLengthMax })}
${issue && selectField(sheet, { name: "status", label: "Status", options: statuses })}
${lineField(sheet, people)}${labels}
<p class="actions"><button>${words}</button> <a href="${base}${back}">Cancel</a></p></form></section>`;
}

const newIssue = formPages({
  path: `${at}/new`,
  operationIds: ["showNewIssue", "createIssueByPage"],
  params: z.object(names),
  async show({ params, sheet, visit }, deps) {
    const { names: of, lead } = await inProject(visit.ask, params);
    const form = { names: of, sheet, visit, back: issuesPath(of), words: "Create issue" };
    const body = await issueForm(baseOf(deps), form);
    return { title: "New issue", wide: true, lead: lead("issues"), body: () => body };
  },
  async send({ params, typed, visit }) {
    const body = await bodyOf(typed, visit);
    const { localId } = await visit.ask.one("createIssue", IssueView, { params, body });
    return issuePath(params, localId);
  },
});

const editIssue = formPages({
  path: `${at}/{localId}/edit`,
  operationIds: ["showIssueToEdit", "editIssueByPage"],
  params: IssueParams,
  async show({ params, sheet, visit }, deps) {
    const { names: of, lead } = await inProject(visit.ask, params);
    const issue = await visit.ask.one("getIssue", IssueView, { params });
    const filled = sheet.failure === undefined ? { typed: typedOf(issue) } : sheet;
    const back = issuePath(of, issue.localId);
    const form = { names: of, sheet: filled, visit, issue, back, words: "Save" };
    const body = await issueForm(baseOf(deps), form);
    const title = `Edit issue #${issue.localId}`;
    return { title, wide: true, lead: lead("issues"), body: () => body };
  },
  async send({ params, typed, visit }) {
    const issue = await visit.ask.one("getIssue", IssueView, { params });
    mustBeAsSeen(typed, issue.updatedAt);
    const status = textOf({ typed }, "status");
    const body = {
      ...(await bodyOf(typed, visit, issue)),
      ...(status !== "" && { status: { id: status } }),
    };
    await visit.ask.run("editIssue", { params, body });
    return issuePath(params, params.localId);
  },
});

const typedOf = ({ title, description, status, assignedUsers, labels }: Issue): Typed => ({
  title: [title],
  description: [description],
  status: [status.id],
  assignedUsers: [aliasesOf(assignedUsers)],
  labels: labels.map(({ id }) => id),
});

const bodyOf = async (typed: Typed, visit: Visit, issue?: Issue) => ({
  title: textOf({ typed }, "title"),
  description: textOf({ typed }, "description"),
  assignedUsers: await peopleIn(typed, "assignedUsers", visit, issue?.assignedUsers),
  labels: labelsIn(typed),
});

/**
 * Keeps an edit that the user has not seen from being overwritten.
 *
 * @throws Refusal 409 `form.outdated` when it changed since the form was opened
 */
export function mustBeAsSeen(typed: Typed, updatedAt: string): void {
  const seen = textOf({ typed }, "updatedAt");
  if (seen === "" || seen === updatedAt) return;
  const message =
    "It changed since you opened the form. Your text is kept below: compare it, then save it again.";
  throw new Refusal("conflict", "form.outdated", message);
}

export const issueFormPages: readonly PageRoute[] = [...newIssue, ...editIssue];
