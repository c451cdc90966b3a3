import { z } from "zod";

import { listProjects, type ProjectRow } from "../../../projections/project/project.ts";
import { ProjectView } from "../../api/project/view.ts";
import { CompanyView } from "../../api/team/company.ts";
import { MemberView } from "../../api/team/member.ts";
import { TeamView } from "../../api/team/view.ts";
import { OwnUserView, UserView } from "../../api/user/view.ts";
import type { Deps } from "../../core/deps.ts";
import type { RoutePath } from "../../core/route.ts";
import { paramsOf, projectPath, query as queryOf, userPath } from "../common/address.ts";
import { PageNumber, pager, pageSize } from "../common/pager.ts";
import { brief, empty, person, seen } from "../common/piece.ts";
import { besides } from "../common/project-page.ts";
import { baseOf } from "../common/text.ts";
import { type Html, html } from "../core/html.ts";
import { type PageAnswer, type PageRoute, page, type Visit } from "../core/route.ts";
import { row, tableOf } from "../core/table.ts";
import { Optional } from "../issue/issue-page.ts";

const Paged = z.object({ page: PageNumber });
const membersMax = 100;

type ProjectCells = Readonly<{
  title: string;
  ownerAlias: string;
  alias: string;
  description: string | null;
  isPrivate: boolean;
}>;

function projectTable(base: string, projects: readonly ProjectCells[]): Html {
  if (projects.length === 0)
    return empty("No projects.", "Projects that you may see are listed here.");
  const rows = projects.map(({ ownerAlias, alias, title, description, isPrivate }) =>
    row(
      html`<a href="${base}${projectPath({ ownerAlias, projectAlias: alias })}">${seen(ownerAlias)}/${seen(alias)}</a>`,
      brief(title),
      brief(description ?? ""),
      isPrivate ? "private" : "public",
    ),
  );
  return tableOf("Projects", ["Project", "Title", "Description", "Seen by"], rows);
}

const shownRow = (one: ProjectRow): ProjectCells => ({
  title: one.title,
  ownerAlias: one.owner_alias,
  alias: one.alias,
  description: one.description,
  isPrivate: one.is_private,
});

/** The public projects of an owner whom the visitor may see. */
async function projectsOf(
  base: string,
  ownerId: string,
  address: string,
  number: number,
  { db }: Deps,
): Promise<Html> {
  const slice = { limit: pageSize, offset: number * pageSize };
  const { rows, total } = await listProjects(db, { ownerId, publicOnly: true, ...slice });
  return html`<section aria-labelledby="projects"><h2 id="projects">Public projects</h2>
${projectTable(base, rows.map(shownRow))}${pager({ address, number, total })}</section>`;
}

const showUser = page({
  ...besides,
  path: "/user/{userAlias}",
  operationId: "showUser",
  query: Paged,
  async handle({ params, query, visit }, deps) {
    const user = await visit.operations.one("getUser", UserView, { params });
    const base = baseOf(deps);
    const projects = await projectsOf(
      base,
      user.id,
      base + userPath(user.username),
      query.page,
      deps,
    );
    return {
      title: seen(user.fullName),
      wide: true,
      body: () => html`<p class="hint">@${seen(user.username)}</p>${projects}`,
    };
  },
});

const showSelf = page({
  ...besides,
  path: "/user/me",
  operationId: "showOwnUser",
  async handle({ visit }) {
    const { username } = await visit.operations.one("getOwnUser", OwnUserView, {});
    return { redirect: userPath(username) };
  },
});

type Group = z.output<typeof TeamView> | z.output<typeof CompanyView>;
type GroupScope = Readonly<{
  noun: "Team" | "Company";
  params: Readonly<Record<string, string>>;
  at: string;
}>;

async function groupPage(
  group: Group,
  scope: GroupScope,
  number: number,
  visit: Visit,
  deps: Deps,
): Promise<PageAnswer> {
  const base = baseOf(deps);
  const input = { params: scope.params, page: { number: 0, size: membersMax } };
  const members = await visit.operations.list(`list${scope.noun}Members`, MemberView, input);
  const projects = await projectsOf(base, group.id, base + scope.at, number, deps);
  const rows = members.items.map((one) => row(person(base, one), one.role.toLowerCase()));
  return {
    title: seen(group.title),
    wide: true,
    body: () => html`${group.description && html`<p>${group.description}</p>`}${projects}
<section aria-labelledby="members"><h2 id="members">Members</h2>${tableOf("Members", ["Person", "Role"], rows)}
${members.totalElements > rows.length && html`<p class="hint">The first ${rows.length} of ${members.totalElements}.</p>`}
<p><a href="${base}${scope.at}/audit">Audit</a></p></section>`,
  };
}

const showGroup = (noun: "Team" | "Company", path: RoutePath, view: z.ZodType<Group>) =>
  page({
    ...besides,
    path,
    operationId: `show${noun}`,
    params: paramsOf(path),
    query: Paged,
    async handle({ params, query, visit }, deps) {
      const group = await visit.operations.one(`get${noun}`, view, { params });
      const at = `/${noun.toLowerCase()}/${encodeURIComponent(group.alias)}`;
      return groupPage(group, { noun, params, at }, query.page, visit, deps);
    },
  });

const showTeam = showGroup("Team", "/team/{teamAlias}", TeamView);
const showCompany = showGroup("Company", "/company/{companyAlias}", CompanyView);

const lists = [
  ["/project/my", "listOwnProjects", "My projects"],
  ["/project/shared", "listSharedProjects", "Projects shared with me"],
  ["/project", "listProjects", "Public projects"],
] as const;

const projectList = ([path, apiOperation, title]: (typeof lists)[number]): PageRoute =>
  page({
    ...besides,
    path,
    operationId: apiOperation.replace("list", "show"),
    query: Paged.extend({ q: Optional }),
    async handle({ query: { page: number, q }, visit }, deps) {
      const base = baseOf(deps);
      const input = { query: { q }, page: { number, size: pageSize } };
      const { items, totalElements: total } = await visit.operations.list(
        apiOperation,
        ProjectView,
        input,
      );
      const shown = items.map((one) => ({
        ...one,
        ownerAlias: one.owner.alias,
        isPrivate: one.private,
      }));
      return {
        title,
        wide: true,
        lead: () =>
          html`<nav class="tabs" aria-label="Projects"><ul>${lists.map(
            ([to, , words]) =>
              html`<li><a href="${base}${to}"${to === path && html` aria-current="page"`}>${words}</a></li>`,
          )}</ul></nav>`,
        body: () => html`<section><form class="filter" method="get" action="${base}${path}" role="search"><div><label for="q">Title</label>
<input type="search" id="q" name="q" value="${q}" maxlength="255"></div><button class="quiet">Filter</button></form>
${projectTable(base, shown)}${pager({ address: base + path + queryOf({ q }), number, total })}</section>`,
      };
    },
  });

export const ownerPages: readonly PageRoute[] = [
  ...lists.map(projectList),
  showCompany,
  showSelf,
  showTeam,
  showUser,
];
