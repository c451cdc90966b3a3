import { z } from "zod";
import { ReleaseView } from "../../api/release/view.ts";
import { BranchesView } from "../../api/repository/branch.ts";
import { TagView } from "../../api/repository/tag.ts";
import { nameLengthMax } from "../../core/schema.ts";
import {
  commitPath,
  filePath,
  historyPath,
  type Names,
  projectPath,
  query as queryOf,
  tagPath,
} from "../common/address.ts";
import { PageNumber, pager, pageSize } from "../common/pager.ts";
import { brief, empty, seen, shortHash, size, when } from "../common/piece.ts";
import { besides, projectPage } from "../common/project-page.ts";
import { markdownPiece, plainPiece } from "../common/text.ts";
import { type Html, html } from "../core/html.ts";
import { type PageRoute, page } from "../core/route.ts";
import { row, tableOf } from "../core/table.ts";
import { readable } from "./found.ts";

const Paged = z.object({ page: PageNumber });

const branchPrefix = "refs/heads/";
const tagPrefix = "refs/tags/";

const showBranches = projectPage({
  ...readable,
  path: "/project/{ownerAlias}/{projectAlias}/branch",
  operationId: "showBranches",
  query: Paged.extend({ branchName: z.string().max(nameLengthMax).optional() }),
  tab: "branches",
  async show({ params, query, visit, names, base }) {
    if (query.branchName !== undefined) {
      return { redirect: filePath(names, branchPrefix + query.branchName, "") };
    }
    const input = { page: query.page, size: pageSize };
    const reply = await visit.operations.one("listBranches", BranchesView, {
      params,
      query: input,
    });
    const listed = "_embedded" in reply ? reply : undefined;
    const branches = listed?._embedded["branchList"] ?? [];
    const rows = branches.map(({ name, lastCommit, default: isDefault, merged }) =>
      row(
        html`<a href="${base}${filePath(names, branchPrefix + name, "")}">${seen(name)}</a>${isDefault && " (default)"}`,
        lastCommit &&
          html`<a href="${base}${commitPath(names, lastCommit.hash)}">${brief(lastCommit.shortMessage, 80)}</a>`,
        lastCommit && when(lastCommit.createdAt),
        merged && !isDefault ? "merged" : "",
        html`<a href="${base}${historyPath(names, branchPrefix + name)}">History</a>
${visit.session && !isDefault && html`<a href="${base}/page${projectPath(names)}/merge-request/new${queryOf({ sourceBranch: name })}">Merge request</a>`}`,
      ),
    );
    const address = `${base}${projectPath(names)}/branch`;
    const total = listed?.page.totalElements ?? 0;
    return {
      title: "Branches",
      body: () => html`<section>
${rows.length === 0 ? empty("No branches.", "The first push creates one.") : tableOf("Branches", ["Branch", "Last commit", "Date", "State", ""], rows)}
${pager({ address, number: query.page, total })}</section>`,
    };
  },
});

const showTags = projectPage({
  ...readable,
  path: "/project/{ownerAlias}/{projectAlias}/tag",
  operationId: "showTags",
  query: Paged,
  tab: "tags",
  async show({ params, query, visit, names, base }) {
    const input = { params, page: { number: query.page, size: pageSize } };
    const { items, totalElements: total } = await visit.operations.list("listTags", TagView, input);
    const rows = items.map((tag) =>
      row(
        html`<a href="${base}${tagPath(names, tag.name)}">${seen(tag.name)}</a>`,
        brief(tag.shortMessage, 80),
        tag.commitId &&
          html`<a href="${base}${commitPath(names, tag.commitId)}"><code>${shortHash(tag.commitId)}</code></a>`,
        tag.personIdent && when(tag.personIdent.when),
      ),
    );
    const address = `${base}${projectPath(names)}/tag`;
    return {
      title: "Tags",
      body: () => html`<section>
${rows.length === 0 ? empty("No tags.", html`<code>git tag v1.0 && git push origin v1.0</code> creates one.`) : tableOf("Tags", ["Tag", "Message", "Commit", "Date"], rows)}
${pager({ address, number: query.page, total })}</section>`,
    };
  },
});

const showTag = projectPage({
  ...readable,
  path: "/project/{ownerAlias}/{projectAlias}/tag/{tagName}",
  operationId: "showTag",
  tab: "tags",
  async show({ params, visit, names, base }) {
    const tag = await visit.operations.one("getTag", TagView, { params });
    return {
      title: brief(tag.name),
      body: () => html`<section>${plainPiece(tag.fullMessage || tag.shortMessage)}
<p class="actions">${
        tag.commitId &&
        html`<a href="${base}${commitPath(names, tag.commitId)}">Commit <code>${shortHash(tag.commitId)}</code></a>
<a href="${base}${filePath(names, tagPrefix + tag.name, "")}">Files</a>`
      }
<a href="${base}${archivePath(names, tag.name, "zip")}">zip</a>
<a href="${base}${archivePath(names, tag.name, "tar.gz")}">tar.gz</a></p></section>`,
    };
  },
});

const archivePath = (names: Names, tag: string, format: string): string =>
  `${projectPath(names)}/archive/${encodeURIComponent(tagPrefix + tag)}.${format}`;

const showReleases = projectPage({
  ...readable,
  path: "/project/{ownerAlias}/{projectAlias}/release",
  operationId: "showReleases",
  query: Paged,
  tab: "releases",
  async show({ params, query, visit, names, base }) {
    const input = { params, page: { number: query.page, size: 10 } };
    const { items, totalElements } = await visit.operations.list(
      "listReleases",
      ReleaseView,
      input,
    );
    const pieces = await Promise.all(items.map((release) => releasePiece(base, names, release)));
    const address = `${base}${projectPath(names)}/release`;
    return {
      title: "Releases",
      body: () => html`${pieces.length === 0 && html`<section>${empty("No releases.", "A release offers the files of a version, with words about what is new.")}</section>`}${pieces}
${pager({ address, number: query.page, size: 10, total: totalElements })}`,
    };
  },
});

const showRelease = projectPage({
  ...readable,
  path: "/project/{ownerAlias}/{projectAlias}/release/{releaseUuid}",
  operationId: "showRelease",
  tab: "releases",
  async show({ params, visit, names, base }) {
    const isLatest = params.releaseUuid === "latest";
    const release = await visit.operations.one(
      isLatest ? "getLatestRelease" : "getRelease",
      ReleaseView,
      {
        params,
      },
    );
    const piece = await releasePiece(base, names, release);
    return { title: brief(release.title), body: () => piece };
  },
});

async function releasePiece(
  base: string,
  names: Names,
  release: z.output<typeof ReleaseView>,
): Promise<Html> {
  const { id, title, tagName, description, attachmentFiles, preRelease, createdAt } = release;
  const location = { names, revision: tagPrefix + tagName };
  const at = `${base}${projectPath(names)}/release/${id}`;
  return html`<section aria-labelledby="r-${id}"><h2 id="r-${id}"><a href="${at}">${brief(title)}</a>
${preRelease && html`<span class="status">pre-release</span>`}</h2>
<p class="actions"><a href="${base}${tagPath(names, tagName)}">${seen(tagName)}</a> ${when(createdAt)}
<a href="${base}${archivePath(names, tagName, "zip")}">zip</a>
<a href="${base}${archivePath(names, tagName, "tar.gz")}">tar.gz</a></p>
${description !== null && (await markdownPiece(base, description, location))}
${
  attachmentFiles !== null &&
  html`<h3>Files</h3><ul class="tree">${attachmentFiles.map(
    (file) => html`<li><a href="${at}/file/${file.uuid}">${seen(file.name)}</a>
<span class="hint">${size(file.size)} · SHA-256 <code>${file.hashSha256}</code></span></li>`,
  )}</ul>`
}</section>`;
}

const downloadReleaseFilePage = page({
  ...besides,
  path: "/project/{ownerAlias}/{projectAlias}/release/{releaseUuid}/file/{fileUuid}",
  operationId: "downloadReleaseFileInBrowser",
  handle: async ({ params, visit }) => ({
    stream: await visit.operations.stream("downloadReleaseFile", { params }),
  }),
});

export const refPages: readonly PageRoute[] = [
  downloadReleaseFilePage,
  showBranches,
  showRelease,
  showReleases,
  showTag,
  showTags,
];
