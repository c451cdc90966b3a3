import type { z } from "zod";

import { IssueStatus } from "../../../events/issue/issue.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { textLengthMax } from "../../api/issue/body.ts";
import { IssueView } from "../../api/issue/view.ts";
import type { Names } from "../common/address.ts";
import { aliasesOf, labelField, labelsIn, peopleHint, peopleIn } from "../common/choice.ts";
import { drawnForm, type FormPlace, projectForm } from "../common/form-page.ts";
import { areaField, lineField, selectField, type Typed, textOf } from "../common/sheet.ts";
import { type Html, html } from "../core/html.ts";
import type { PageRoute, Visit } from "../core/route.ts";
import { at, issuePath, issuesPath } from "./address.ts";

type Issue = z.output<typeof IssueView>;

const fields = ["title", "description", "assignedUsers", "labels", "status"];

/** @param issue that is edited */
async function issueForm(place: FormPlace, of: Names, issue?: Issue): Promise<Html> {
  const { sheet, visit } = place;
  const labels = await labelField(sheet, of, visit, issue?.labels);
  const statuses = IssueStatus.options.map((value) => ({
    value,
    words: value.replaceAll("_", " ").toLowerCase(),
  }));
  const people = { name: "assignedUsers", label: "Assigned", hint: peopleHint };
  const drawn = { label: "Issue", fields, version: issue?.updatedAt };
  return drawnForm(
    place,
    drawn,
    html`${lineField(sheet, { name: "title", label: "Title", required: true })}
${areaField(sheet, { name: "description", label: "Description (Markdown)", required: true, lengthMax: textLengthMax })}
${issue && selectField(sheet, { name: "status", label: "Status", options: statuses })}
${lineField(sheet, people)}${labels}`,
  );
}

const newIssue = projectForm({
  path: `${at}/new`,
  operationIds: ["showNewIssue", "createIssueByPage"],
  tab: "issues",
  async show({ names: of, sheet, visit, base }) {
    const place = { base, sheet, visit, back: issuesPath(of), words: "Create issue" };
    return { title: "New issue", body: await issueForm(place, of) };
  },
  async send({ params, typed, visit }) {
    const body = await bodyOf(typed, visit);
    const { localId } = await visit.operations.one("createIssue", IssueView, { params, body });
    return issuePath(params, localId);
  },
});

const editIssue = projectForm({
  path: `${at}/{localId}/edit`,
  operationIds: ["showIssueToEdit", "editIssueByPage"],
  tab: "issues",
  async show({ params, names: of, sheet, visit, base }) {
    const issue = await visit.operations.one("getIssue", IssueView, { params });
    const filled = sheet.failure === undefined ? { typed: typedOf(issue) } : sheet;
    const back = issuePath(of, issue.localId);
    const place = { base, sheet: filled, visit, back, words: "Save" };
    return { title: `Edit issue #${issue.localId}`, body: await issueForm(place, of, issue) };
  },
  async send({ params, typed, visit }) {
    const issue = await visit.operations.one("getIssue", IssueView, { params });
    mustBeAsSeen(typed, issue.updatedAt);
    const status = textOf({ typed }, "status");
    const body = {
      ...(await bodyOf(typed, visit, issue)),
      ...(status !== "" && { status: { id: status } }),
    };
    await visit.operations.run("editIssue", { params, body });
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
