import type { Knex } from "knex";

import type { Commit } from "../../git/object/object.ts";
import { subjectOf } from "../../git/object/object.ts";
import type { Repository } from "../../git/repository.ts";
import { runGit } from "../../git/run.ts";
import { withoutComments } from "../../platform/markdown/plain-text.ts";
import { oneLineOf } from "../../platform/storable-text.ts";
import { approvalsOf } from "../../projections/merge-request/merge-request-query.ts";
import type { MergeRequestRow } from "../../projections/merge-request/merge-request-row.ts";
import type { ProjectRow } from "../../projections/project/project.ts";
import { accountIdent } from "../../projections/user/commit-author.ts";

export type MessageSubject = Readonly<{
  db: Knex;
  repository: Repository;
  project: ProjectRow;
  row: MergeRequestRow;
  targetHead: string;
  mergedById: string;
  publicUrl: string;
}>;

const commitsMax = 100;
const messageLengthMax = 64 * 1024;

/** What each variable of a template represents; see docs/api/merge-request.md. */
const variables: Readonly<Record<string, (subject: MessageSubject) => Promise<string>>> = {
  // A title that was stored with more lines would write trailers.
  title: async ({ row }) => oneLineOf(row.title),
  // The words of a commit message close issues wherever they stand.
  description: async ({ row }) => withoutComments(row.description),
  source_branch: async ({ row }) => row.source_branch,
  target_branch: async ({ row }) => row.target_branch,
  reference: async ({ project, row }) => `${project.owner_alias}/${project.alias}!${row.local_id}`,
  local_reference: async ({ row }) => `!${row.local_id}`,
  url: async ({ project, row, publicUrl }) =>
    `${publicUrl}/project/${project.owner_alias}/${project.alias}/merge-request/${row.local_id}`,
  merged_by: ({ db, mergedById }) => person(db, mergedById),
  merge_request_author: ({ db, row }) => person(db, row.author_id),
  approved_by: async ({ db, row }) => {
    const approvals = await approvalsOf(db, row.id);
    const people = await Promise.all(approvals.map(({ approver_id }) => person(db, approver_id)));
    return people.map((name) => `Approved-by: ${name}`).join("\n");
  },
  first_commit: async (subject) => (await commitsOf(subject)).at(-1)?.message.trim() ?? "",
  first_multiline_commit: async (subject) => {
    const commits = (await commitsOf(subject)).toReversed();
    const found = commits.find(({ message }) => message.trim().includes("\n"));
    return found?.message.trim() ?? oneLineOf(subject.row.title);
  },
  all_commits: async (subject) =>
    (await commitsOf(subject)).map(({ message }) => `* ${message.trim()}`).join("\n\n"),
  commit_titles: async (subject) =>
    (await commitsOf(subject)).map(({ message }) => `* ${subjectOf(message)}`).join("\n"),
  co_authored_by: async (subject) => {
    const authors = (await commitsOf(subject)).map(
      ({ author }) => `${author.name} <${author.email}>`,
    );
    const own = await person(subject.db, subject.row.author_id);
    const others = [...new Set(authors)].filter((name) => name !== own);
    return others.map((name) => `Co-authored-by: ${name}`).join("\n");
  },
};

/**
 * Replaces variables with their values. What they bring is not read again, and a line that held
 * nothing but variables without a value is left out.
 */
export async function filledMessage(template: string, subject: MessageSubject): Promise<string> {
  const used = new Set([...template.matchAll(/%\{(\w+)\}/g)].map(([, name = ""]) => name));
  const values = new Map<string, string>();
  for (const name of used) {
    const value = Object.hasOwn(variables, name) ? await variables[name]?.(subject) : undefined;
    if (value !== undefined) values.set(name, value.slice(0, messageLengthMax));
  }
  const lines = template.split("\n").flatMap((line) => {
    const filled = line.replaceAll(
      /%\{(\w+)\}/g,
      (whole, name: string) => values.get(name) ?? whole,
    );
    return line !== "" && filled.trim() === "" ? [] : [filled];
  });
  const text = lines
    .join("\n")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim();
  return text.slice(0, messageLengthMax) || `Merge branch '${subject.row.source_branch}'`;
}

async function person(db: Knex, id: string): Promise<string> {
  const { name, email } = await accountIdent(db, id);
  return `${name} <${email}>`;
}

/** Newest first. */
async function commitsOf({
  repository,
  row,
  targetHead,
}: MessageSubject): Promise<readonly Commit[]> {
  const { stdout } = await runGit(repository.gitDir, [
    "rev-list",
    ...[`--max-count=${commitsMax}`, "--no-merges"],
    ...["--end-of-options", row.source_commit, `^${targetHead}`, "--"],
  ]);
  const ids = stdout.toString("latin1").split("\n").filter(Boolean);
  const commits = await Promise.all(ids.map((id) => repository.objects.commit(id)));
  return commits.filter((commit) => commit !== undefined);
}
