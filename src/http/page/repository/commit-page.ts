import { z } from "zod";
import { ChangedFileView } from "../../api/repository/changed-file-view.ts";
import { ChangedFilesView } from "../../api/repository/commit-diff.ts";
import { CommitView } from "../../api/repository/commit-view.ts";
import { nameLengthMax, pathLengthMax } from "../../core/schema.ts";
import {
  commitPath,
  filePath,
  type Names,
  projectPath,
  query as queryOf,
} from "../common/address.ts";
import { PageNumber, pager, pageSize } from "../common/pager.ts";
import {
  brief,
  briefName,
  empty,
  person,
  seen,
  seenText,
  shortHash,
  when,
} from "../common/piece.ts";
import { projectPage } from "../common/project-page.ts";
import { type Html, html } from "../core/html.ts";
import type { PageRoute, Visit } from "../core/route.ts";
import { row, tableOf } from "../core/table.ts";
import { commitChecks } from "../pipeline/commit-piece.ts";
import {
  aloneLinesMax,
  type ChangedFile,
  diffPiece,
  type LineParts,
  openLinesMax,
} from "./diff.ts";
import { readable } from "./found.ts";

export type Commit = z.output<typeof CommitView>;

/** Commits as a table, newest first. */
export function commitTable(base: string, names: Names, commits: readonly Commit[]): Html {
  const rows = commits.map((commit) =>
    row(
      html`<a href="${base}${commitPath(names, commit.hash)}">${brief(commit.shortMessage) || "(no message)"}</a>`,
      authorOf(base, commit),
      html`<code>${shortHash(commit.hash)}</code>`,
      when(commit.createdAt),
    ),
  );
  return tableOf("Commits", ["Message", "Author", "Commit", "Date"], rows);
}

const authorOf = (base: string, { user, authorIdent }: Commit): Html =>
  user === null ? html`${seen(authorIdent.name)}` : person(base, user);

const showCommits = projectPage({
  ...readable,
  path: "/project/{ownerAlias}/{projectAlias}/commits",
  operationId: "showCommits",
  query: z.object({
    branch: z.string().max(nameLengthMax).optional(),
    path: z.string().max(pathLengthMax).optional(),
    page: PageNumber,
  }),
  tab: "commits",
  async show({ params, query, visit, names, project, base }) {
    const { branch, path, page: number } = query;
    const input = { params, query: { branch, path }, page: { number, size: pageSize } };
    const { items, totalElements: total } = await visit.operations.list(
      "listCommits",
      CommitView,
      input,
    );
    const address = `${base}${projectPath(names)}/commits${queryOf({ branch, path })}`;
    return {
      title: path ? `History of ${briefName(path)}` : "Commits",
      body: () => html`<section><p>Of <code>${seen(branch ?? project.defaultBranch)}</code></p>
${items.length === 0 ? empty("No commits.", "The first push brings them.") : commitTable(base, names, items)}
${pager({ address, number, total })}</section>`,
    };
  },
});

const filesMax = 20;

const showCommit = projectPage({
  ...readable,
  path: "/project/{ownerAlias}/{projectAlias}/commit/{hash}",
  operationId: "showCommit",
  query: z.object({ file: z.string().max(pathLengthMax).optional(), page: PageNumber }),
  tab: "commits",
  async show({ params, query, visit, names, base }, deps) {
    const commit = await visit.operations.one("getCommit", CommitView, { params });
    const checks = await commitChecks(names, commit.hash, visit, deps);
    const changes =
      query.file === undefined
        ? await filesPiece(base, names, commit, query.page, visit)
        : await filePiece(base, names, commit, { file: query.file, page: query.page }, visit);
    return {
      title: brief(commit.shortMessage) || shortHash(commit.hash),
      body: () => html`${aboutCommit(base, names, commit)}${checks}${changes}`,
    };
  },
});

const bodyLengthMax = 20_000;

function aboutCommit(base: string, names: Names, commit: Commit): Html {
  const { message, hash, parentCommitIds, verificationResult } = commit;
  return html`<section aria-label="Commit">
${message.trim() !== "" && html`<pre class="plain">${seenText(message.slice(0, bodyLengthMax).toWellFormed().trim())}</pre>`}
<dl><dt>Author</dt><dd>${authorOf(base, commit)}, ${when(commit.authorIdent.when)}</dd>
<dt>Commit</dt><dd><code>${hash}</code></dd>
<dt>Parents</dt><dd>${parentCommitIds.length === 0 && "none"}${parentCommitIds.map(
    (parent) =>
      html`<a href="${base}${commitPath(names, parent)}"><code>${shortHash(parent)}</code></a> `,
  )}</dd>
<dt>Signature</dt><dd>${verificationResult.verified ? "verified" : "not verified"}: ${seen(verificationResult.comment)}</dd></dl>
<p class="actions"><a href="${base}${filePath(names, hash, "")}">Files at this commit</a></p></section>`;
}

/** The files of a commit, as many lines as fit on a page; of the others a link shows each alone. */
async function filesPiece(
  base: string,
  names: Names,
  { hash }: Commit,
  number: number,
  { operations }: Visit,
): Promise<Html> {
  const params = { ...names, hash };
  const all = await operations.one("listCommitFiles", ChangedFilesView, { params });
  const some = all.slice(number * filesMax, (number + 1) * filesMax);
  const address = base + commitPath(names, hash);
  const pieces: Html[] = [];
  let left = openLinesMax;
  for (const file of some) {
    const count = file.addedLinesCount + file.removedLinesCount;
    const isOpen = !file.isBinary && !file.isLarge && !file.isCollapsed && count <= left;
    const lines = isOpen
      ? (await diffOf(names, hash, { filePath: file.filePath }, operations)).lines
      : undefined;
    left -= lines?.length ?? 0;
    pieces.push(diffPiece({ file, alone: `${address}${queryOf({ file: file.filePath })}`, lines }));
  }
  const pages = pager({ address, number, size: filesMax, total: all.length });
  return html`<h2>${all.length} ${all.length === 1 ? "file" : "files"} changed</h2>${pages}${pieces}${pages}`;
}

const diffOf = (
  names: Names,
  commitId: string,
  query: Readonly<{ filePath: string }> & Partial<LinePart>,
  operations: Visit["operations"],
) => operations.one("getFileDiff", ChangedFileView, { params: { ...names, commitId }, query });

async function filePiece(
  base: string,
  names: Names,
  { hash }: Commit,
  { file: path, page }: Readonly<{ file: string; page: number }>,
  { operations }: Visit,
): Promise<Html> {
  const file = await diffOf(names, hash, { filePath: path, ...linePart(page) }, operations);
  const address = base + commitPath(names, hash);
  const back = html`<p><a href="${address}">All files of the commit</a></p>`;
  return html`${back}${alonePiece(file, `${address}${queryOf({ file: path })}`, page)}`;
}

/** The lines of one file's diff that a page of it shows. */
export const linePart = (page: number) => ({
  lineOffset: page * aloneLinesMax,
  lineLimit: aloneLinesMax,
});
type LinePart = ReturnType<typeof linePart>;

/** One file whose lines are those of the page, see `linePart`. */
export function alonePiece(
  file: ChangedFile,
  address: string,
  number: number,
  parts?: LineParts,
): Html {
  const { lines, linesTotal: total = lines.length } = file;
  const pages = pager({ address, number, size: aloneLinesMax, total });
  return html`${pages}${diffPiece({ file, alone: address, lines, parts })}${pages}`;
}

export const commitPages: readonly PageRoute[] = [showCommit, showCommits];
