import type { TreeEntry } from "../../../git/object/object.ts";
import type { Repository } from "../../../git/repository.ts";
import { filePath, historyPath, type Names } from "../common/address.ts";
import { nothing, seen } from "../common/piece.ts";
import { type Html, html } from "../core/html.ts";

const entriesMax = 2_000;

const kinds: Readonly<Record<TreeEntry["kind"], string>> = {
  directory: "directory",
  executable: "executable",
  file: "file",
  submodule: "submodule",
  symlink: "symbolic link",
};

const isDirectory = ({ kind }: TreeEntry): boolean => kind === "directory";

/** The entries of a directory, directories first. */
export async function treePiece(
  base: string,
  repository: Repository,
  treeId: string,
  { names, revision, path }: Readonly<{ names: Names; revision: string; path: string }>,
): Promise<Readonly<{ table: Html; entries: readonly TreeEntry[] }>> {
  const entries = (await repository.objects.tree(treeId)) ?? [];
  const sorted = [...entries.filter(isDirectory), ...entries.filter((one) => !isDirectory(one))];
  const listed = sorted.slice(0, entriesMax);
  const prefix = path === "" ? "" : `${path}/`;
  const link = (entry: TreeEntry): Html =>
    entry.kind === "submodule"
      ? html`${seen(entry.name)}`
      : html`<a href="${base}${filePath(names, revision, prefix + entry.name)}">${seen(entry.name)}${isDirectory(entry) && "/"}</a>`;
  const table = html`${entries.length === 0 && nothing("The directory is empty.")}
<ul class="tree">${listed.map(
    (entry) =>
      html`<li class="k-${entry.kind}">${link(entry)} <span class="hint">${kinds[entry.kind]}</span></li>`,
  )}</ul>
${sorted.length > listed.length && html`<p class="hint">The first ${listed.length} of ${sorted.length} entries.</p>`}`;
  return { table, entries };
}

/** The path as links to its directories, from the root on. */
export function crumbs(
  base: string,
  {
    names,
    revision,
    parts,
    title,
  }: Readonly<{ names: Names; revision: string; parts: readonly string[]; title: string }>,
): Html {
  return html`<nav class="crumbs" aria-label="Path"><a href="${base}${filePath(names, revision, "")}">${seen(title)}</a>${parts.map(
    (part, index) =>
      html` <span aria-hidden="true">/</span> <a href="${base}${filePath(names, revision, parts.slice(0, index + 1).join("/"))}"${index === parts.length - 1 && html` aria-current="page"`}>${seen(part)}</a>`,
  )}</nav>`;
}

export const revisionBar = (
  base: string,
  names: Names,
  revision: string,
  path: string,
): Html => html`<p class="actions"><span>At <code>${seen(revision)}</code></span>
<a href="${base}${historyPath(names, revision, path)}">History</a></p>`;
