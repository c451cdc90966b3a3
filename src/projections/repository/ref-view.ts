import type { Knex } from "knex";

import { Answers } from "../../git/answers.ts";
import { branchesAt, findRef, listRefs } from "./git-ref.ts";
import type { GitRefRow, GitRepositoryRow } from "./ref-rows.ts";

type Kind = GitRefRow["kind"];
type Page = Readonly<{ size: number; offset: number }>;
type Listed = Awaited<ReturnType<typeof listRefs>>;
type Heads = Awaited<ReturnType<typeof branchesAt>>;

/** The branches and tags of a repository as of one moment. */
export type RefView = Readonly<{
  list: (kind: Kind, page: Page) => Promise<Listed>;
  find: (kind: Kind, name: string) => Promise<GitRefRow | undefined>;
  branchesAt: (commitIds: readonly string[]) => Promise<Heads>;
}>;

const rowBytes = 600;
const mebibyte = 1024 ** 2;
const pages = new Answers<Listed>(16 * mebibyte, ({ rows }) => rows.length * rowBytes);
const found = new Answers<GitRefRow | undefined>(4 * mebibyte, () => rowBytes);
const branchHeads = new Answers<Heads>(8 * mebibyte, (heads) => heads.length * rowBytes);

/**
 * The revision of the repository's stream says which answers still hold, since its row and those of
 * the refs change together: one check of it saves the rest, whichever process wrote.
 */
export async function refView(db: Knex, projectId: string, past?: true): Promise<RefView> {
  if (past) return viewOfThen(db, projectId);
  const row = await db<GitRepositoryRow>("git_repository")
    .where({ project_id: projectId })
    .first("revision");
  const key = `${projectId} ${row?.revision ?? "none"}`;
  return {
    list: (kind, page) =>
      pages.get(`${key} ${kind} ${page.offset} ${page.size}`, () =>
        listRefs(db, projectId, kind, page),
      ),
    find: (kind, name) =>
      found.get(`${key} ${kind} ${name}`, () => findRef(db, projectId, kind, name)),
    branchesAt: (commitIds) =>
      branchHeads.get(`${key} ${commitIds.join()}`, () => branchesAt(db, projectId, commitIds)),
  };
}

/** Which events had happened by a time is not said by the revision of the last of them. */
function viewOfThen(db: Knex, projectId: string): RefView {
  return {
    list: (kind, page) => listRefs(db, projectId, kind, page),
    find: (kind, name) => findRef(db, projectId, kind, name),
    branchesAt: (commitIds) => branchesAt(db, projectId, commitIds),
  };
}
