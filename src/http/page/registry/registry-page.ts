import { z } from "zod";

import { PackageView } from "../../api/package/view.ts";
import { registryScopes } from "../../api/registry/owner.ts";
import { RegistryRepositoryView } from "../../api/registry/view.ts";
import { filled, namesOf, paramsOf } from "../common/address.ts";
import { inProject } from "../common/frame.ts";
import { PageNumber, pager, pageSize } from "../common/pager.ts";
import { brief, empty, seen } from "../common/piece.ts";
import { besides } from "../common/project-page.ts";
import { baseOf } from "../common/text.ts";
import { type Html, html } from "../core/html.ts";
import { type PageRoute, page, type Visit } from "../core/route.ts";
import { row, tableOf } from "../core/table.ts";
import { type ClientLines, clientLines, type Named } from "./install.ts";

type Params = Readonly<Record<string, string>>;
type PageScope = (typeof registryScopes)[number];

async function leadIn({ noun }: PageScope, params: Params, { operations }: Visit) {
  if (noun !== "Project") return {};
  return { lead: (await inProject(operations, namesOf(params))).lead("packages") };
}

const showRepositories = (scope: PageScope): PageRoute =>
  page({
    ...besides,
    path: scope.path,
    operationId: `show${scope.noun}RegistryRepositories`,
    params: paramsOf(scope.path),
    query: z.object({ page: PageNumber }),
    async handle({ params, query: { page: number }, visit }, deps) {
      const of: Params = params;
      const lead = await leadIn(scope, of, visit);
      const input = { params: of, page: { number, size: pageSize } };
      const operationId = `list${scope.noun}RegistryRepositories`;
      const { items, totalElements: total } = await visit.operations.list(
        operationId,
        RegistryRepositoryView,
        input,
      );
      const address = baseOf(deps) + filled(scope.path, of);
      const rows = items.map((one) =>
        row(
          html`<a href="${address}/${one.repositoryUuid}">${seen(one.title)}</a>`,
          one.packageType,
          one.repositoryType.toLowerCase(),
          brief(one.description ?? ""),
        ),
      );
      return {
        title: "Packages",
        wide: true,
        ...lead,
        body: () => html`<section>${rows.length === 0 ? empty("No repositories.", html`One is created by <code>POST ${filled(scope.path, of)}</code>; its page shows how clients use it.`) : tableOf("Repositories", ["Repository", "Packages", "Kind", "Description"], rows)}
${pager({ address, number, total })}</section>`,
      };
    },
  });

const showRepository = (scope: PageScope): PageRoute =>
  page({
    ...besides,
    path: `${scope.path}/{registryRepositoryUuid}`,
    operationId: `show${scope.noun}RegistryRepository`,
    params: paramsOf(`${scope.path}/{registryRepositoryUuid}`),
    query: z.object({ page: PageNumber }),
    async handle({ params, query: { page: number }, visit }, deps) {
      const of: Params = params;
      const lead = await leadIn(scope, of, visit);
      const operationId = `get${scope.noun}RegistryRepository`;
      const repository = await visit.operations.one(operationId, RegistryRepositoryView, {
        params: of,
      });
      const input = { params: of, page: { number, size: pageSize } };
      const listed = await visit.operations.list(
        `list${scope.noun}RepositoryPackages`,
        PackageView,
        input,
      );
      const address = `${baseOf(deps)}${filled(scope.path, of)}/${repository.repositoryUuid}`;
      const rows = listed.items.map(({ name, version }) => row(seen(name), seen(version)));
      const lines = clientLines(namedBy(scope, of, repository, deps.publicUrl));
      return {
        title: brief(repository.title),
        wide: true,
        ...lead,
        body: () => html`<section>${repository.description && html`<p>${repository.description}</p>`}<p class="hint">A ${repository.repositoryType.toLowerCase()} repository of ${repository.packageType} packages.</p>
${clientPiece(lines, repository.repositoryType === "LOCAL", `${deps.publicUrl}/console`)}</section>
<section aria-labelledby="packages"><h2 id="packages">Packages</h2>${rows.length === 0 ? empty("No packages.", "Publish the first one with the lines above.") : tableOf("Packages", ["Name", "Newest version"], rows)}
${pager({ address, number, total: listed.totalElements })}</section>`,
      };
    },
  });

const linesPiece = (title: string, lines: readonly string[]): Html =>
  html`<h2>${title}</h2><pre class="plain" tabindex="0">${lines.join("\n")}</pre>`;

const clientPiece = ({ setUp, install, publish }: ClientLines, takes: boolean, at: string): Html =>
  html`${setUp.length > 0 && linesPiece("Set up", setUp)}${linesPiece("Install", install)}${takes && linesPiece("Publish", publish)}
<p class="hint">TOKEN is an access token with READ_REGISTRY, or WRITE_REGISTRY to publish: <a href="${at}">make one</a>. Replace words in capitals by your own.</p>`;

function namedBy(
  scope: PageScope,
  params: Params,
  { title, packageType }: z.output<typeof RegistryRepositoryView>,
  publicUrl: string,
): Named {
  const owner = {
    Project: `project/${params["ownerAlias"]}/${params["projectAlias"]}`,
    Company: `company/${params["companyAlias"]}`,
    Instance: "instance",
  }[scope.noun];
  const address = `${publicUrl}/registry/${owner}/repository/${encodeURIComponent(title)}/`;
  const host = publicUrl.replace(/^\w+:\/\//, "");
  const images = `${host}/${owner.replace(/^project\//, "")}/${title}`.toLowerCase();
  return { type: packageType, title, address, images };
}

export const registryPages: readonly PageRoute[] = registryScopes.flatMap((scope) => [
  showRepositories(scope),
  showRepository(scope),
]);
