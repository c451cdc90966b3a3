import type { z } from "zod";
import { ProjectView } from "../../api/project/view.ts";
import type { OperationClient } from "../../core/operation-client.ts";
import { type Html, html } from "../core/html.ts";
import { type Names, projectPath } from "./address.ts";
import { seen } from "./piece.ts";

type Project = z.output<typeof ProjectView>;

export type Tab =
  | "code"
  | "commits"
  | "branches"
  | "tags"
  | "releases"
  | "issues"
  | "merge-requests"
  | "pipelines"
  | "environments"
  | "packages"
  | "audit";

const tabs: readonly (readonly [Tab, string, string])[] = [
  ["code", "Code", ""],
  ["commits", "Commits", "/commits"],
  ["branches", "Branches", "/branch"],
  ["tags", "Tags", "/tag"],
  ["releases", "Releases", "/release"],
  ["issues", "Issues", "/issue"],
  ["merge-requests", "Merge requests", "/merge-request/list"],
  ["pipelines", "Pipelines", "/cicd/pipeline"],
  ["environments", "Environments", "/environment"],
  ["packages", "Packages", "/repositories"],
  ["audit", "Audit", "/audit"],
];

/** The project of a page, and the head that all pages of a project share. */
export async function inProject(
  operations: OperationClient,
  names: Names,
): Promise<
  Readonly<{ project: Project; names: Names; lead: (tab?: Tab) => (base: string) => Html }>
> {
  const project = await operations.one("getProject", ProjectView, { params: names });
  // The spelling of the project's own aliases, not that of the request.
  const spelled = { ownerAlias: project.owner.alias, projectAlias: project.alias };
  return { project, names: spelled, lead: (tab) => (base) => lead(base, project, spelled, tab) };
}

function lead(base: string, project: Project, names: Names, current: Tab | undefined): Html {
  const at = base + projectPath(names);
  const owner = `${base}/${project.owner.type.toLowerCase()}/${encodeURIComponent(names.ownerAlias)}`;
  return html`<nav class="crumbs" aria-label="Place"><a href="${owner}">${seen(names.ownerAlias)}</a>
<span aria-hidden="true">/</span> <a href="${at}">${seen(project.title)}</a>
${project.private && html`<span class="status">private</span>`}</nav>
<nav class="tabs" aria-label="Project"><ul>${tabs.map(
    ([tab, title, path]) =>
      html`<li><a href="${at}${path}"${tab === current && html` aria-current="page"`}>${title}</a></li>`,
  )}</ul></nav>`;
}
