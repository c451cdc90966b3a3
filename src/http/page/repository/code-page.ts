import { z } from "zod";

import type { TreeEntry } from "../../../git/object/object.ts";
import { Refusal } from "../../../platform/refusal.ts";
import type { Deps } from "../../core/deps.ts";
import { type Names, projectPath } from "../common/address.ts";
import { inProject } from "../common/frame.ts";
import { PageNumber } from "../common/pager.ts";
import { brief, briefName, empty, seen } from "../common/piece.ts";
import { besides, projectPage } from "../common/project-page.ts";
import { baseOf, markdownPiece, plainPiece } from "../common/text.ts";
import { type Html, html } from "../core/html.ts";
import { type PageRoute, page, type Visit } from "../core/route.ts";
import { filePiece } from "./file.ts";
import { FileQuery, findEntry, readable } from "./found.ts";
import { crumbs, revisionBar, treePiece } from "./tree.ts";

const showProject = page({
  ...readable,
  ...besides,
  path: "/project/{ownerAlias}/{projectAlias}",
  operationId: "showProject",
  async handle({ params, visit }, deps) {
    // The address that git clones from leads here too.
    if (params.projectAlias.endsWith(".git")) {
      const projectAlias = params.projectAlias.slice(0, -".git".length);
      return { redirect: projectPath({ ...params, projectAlias }) };
    }
    const { project, names, lead } = await inProject(visit.operations, params);
    const base = baseOf(deps);
    const code = await rootPiece(base, visit, deps, names, project);
    return {
      title: seen(project.title),
      wide: true,
      lead: lead("code"),
      body: () => html`${project.description && html`<p>${project.description}</p>`}
${project.topics.length > 0 && html`<p class="hint">${project.topics.join(", ")}</p>`}
${visit.session && html`<p class="actions"><a class="button quiet" href="${base}/page${projectPath(names)}/fork">Fork</a></p>`}
<details class="card"><summary>Clone</summary><dl>
<dt>HTTP</dt><dd><code>${project.httpTransportUrl}</code></dd>
<dt>SSH</dt><dd><code>${project.sshTransportUrl}</code></dd>
</dl></details>
${code}`,
    };
  },
});

type Pushed = Readonly<{ defaultBranch: string; httpTransportUrl: string }>;

/** The root directory of the default branch, with its README. */
async function rootPiece(
  base: string,
  visit: Visit,
  deps: Deps,
  names: Names,
  project: Pushed,
): Promise<Html> {
  const { defaultBranch: revision } = project;
  try {
    const found = await findEntry(visit, deps, names, { commitHash: "HEAD", file: "" });
    const place = { names, revision, path: "" };
    const tree = await treePiece(base, found.repository, found.commit.treeId, place);
    const readme = await readmePiece(base, found, tree.entries, place);
    return html`<section aria-labelledby="files"><h2 id="files">Files</h2>
${revisionBar(base, names, revision, "")}${tree.table}</section>${readme}`;
  } catch (error) {
    if (!(error instanceof Refusal && error.code === "commit.not_found")) throw error;
    const lines = [
      `git remote add origin ${project.httpTransportUrl}`,
      `git push -u origin ${project.defaultBranch}`,
    ];
    return html`<section>${empty("Nothing has been pushed yet.", "From a repository on your machine:")}
<pre class="plain" tabindex="0">${lines.join("\n")}</pre></section>`;
  }
}

type InTree = Readonly<{ names: Names; revision: string; path: string }>;

const readmeNames = ["readme.md", "readme.markdown", "readme", "readme.txt", "readme.rst"];
const readmeBytesMax = 1024 ** 2;

async function readmePiece(
  base: string,
  { repository }: Awaited<ReturnType<typeof findEntry>>,
  entries: readonly TreeEntry[],
  { names, revision, path }: InTree,
): Promise<Html | undefined> {
  const named = (wanted: string) =>
    entries.find(({ name, kind }) => kind === "file" && name.toLowerCase() === wanted);
  const readme = readmeNames.map(named).find((entry) => entry !== undefined);
  const info = readme && (await repository.objects.info(readme.id));
  if (readme === undefined || info === undefined) return undefined;
  const title = html`<h2 id="readme">${seen(readme.name)}</h2>`;
  if (info.bytes > readmeBytesMax) {
    return html`<section aria-labelledby="readme">${title}<p class="hint">It is too large to be shown here.</p></section>`;
  }
  const text = ((await repository.objects.blob(readme.id)) ?? Buffer.alloc(0)).toString("utf8");
  const location = { names, revision, directory: path };
  const shown = /\.(?:md|markdown)$/i.test(readme.name)
    ? await markdownPiece(base, text, location)
    : plainPiece(text);
  return html`<section aria-labelledby="readme">${title}${shown}</section>`;
}

const showFile = projectPage({
  ...readable,
  path: "/project/{ownerAlias}/{projectAlias}/blob",
  operationId: "showFile",
  query: FileQuery.extend({ plain: z.string().max(1).optional(), page: PageNumber }),
  async show({ query, visit, project, names, lead, base }, deps) {
    const found = await findEntry(visit, deps, names, query);
    const { parts, path, entry, repository } = found;
    const revision = query.commitHash;
    const place = { names, revision, path };
    let content: Html;
    if (entry?.kind === "directory") {
      const tree = await treePiece(base, repository, entry.id, place);
      const readme = await readmePiece(base, found, tree.entries, place);
      content = html`<section>${revisionBar(base, names, revision, path)}${tree.table}</section>${readme}`;
    } else {
      const fileRequest = { names, revision, isPlain: query.plain === "1", page: query.page };
      content = html`<section>${await filePiece(base, found, fileRequest)}</section>`;
    }
    return {
      title: parts.length > 0 ? briefName(parts.at(-1) ?? "") : brief(project.title),
      lead: (of) =>
        html`${lead("code")(of)}${crumbs(of, { names, revision, parts, title: project.alias })}`,
      body: () => content,
    };
  },
});

export const codePages: readonly PageRoute[] = [showFile, showProject];
