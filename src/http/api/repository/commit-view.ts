import { z } from "zod";

import { type Commit, type Identity, subjectOf } from "../../../git/object/object.ts";
import { type RefView, refView } from "../../../projections/repository/ref-view.ts";
import { type CommitAuthors, findCommitAuthors } from "../../../projections/user/commit-author.ts";
import type { Deps } from "../../core/deps.ts";
import { instant } from "../../core/schema.ts";
import { UserView, userView } from "../user/view.ts";
import { unsigned, VerificationView, verifyCommits } from "./commit-verification.ts";

export const IdentView = z
  .object({
    name: z.string(),
    avatar: z.string().meta({ description: "Empty when no account has proved the address." }),
    emailAddress: z.string(),
    when: instant(),
  })
  .meta({ id: "Ident" });

export const CommitView = z
  .object({
    hash: z.string(),
    message: z.string(),
    shortMessage: z.string(),
    createdAt: instant(),
    committerIdent: IdentView,
    authorIdent: IdentView,
    user: UserView.nullable().meta({
      description: "The account that has proved the author's address.",
    }),
    verificationResult: VerificationView,
    parentCommitIds: z.array(z.string()),
    parentCommitBranches: z
      .array(z.string())
      .meta({ description: "Branches that stand at one of the parents." }),
  })
  .meta({ id: "Commit" });

/** Commits with the accounts and branches they lead to, in few queries however many there are. */
export async function commitViews(
  { db, git, now }: Pick<Deps, "db" | "git" | "now">,
  projectId: string,
  commits: readonly Commit[],
  known?: RefView,
): Promise<readonly z.input<typeof CommitView>[]> {
  const emails = commits.flatMap(({ author, committer }) => [author.email, committer.email]);
  const parents = [...new Set(commits.flatMap(({ parentIds }) => parentIds))];
  const [authors, heads, repository] = await Promise.all([
    findCommitAuthors(db, emails),
    (known ?? (await refView(db, projectId))).branchesAt(parents),
    git.find(projectId),
  ]);
  const verified = await verifyCommits({ db, now }, repository, commits, authors);
  return commits.map((commit) => {
    const author = authors.get(commit.author.email.toLowerCase());
    return {
      hash: commit.id,
      message: commit.message,
      shortMessage: subjectOf(commit.message),
      createdAt: commit.committer.when,
      committerIdent: identView(commit.committer, authors),
      authorIdent: identView(commit.author, authors),
      user: author === undefined ? null : userView(author),
      verificationResult: verified.get(commit.id) ?? unsigned,
      parentCommitIds: [...commit.parentIds],
      parentCommitBranches: heads
        .filter(({ commit_id }) => commit_id !== null && commit.parentIds.includes(commit_id))
        .map(({ name }) => name),
    };
  });
}

export function identView(
  { name, email, when }: Identity,
  authors: CommitAuthors,
): z.input<typeof IdentView> {
  const avatar = authors.get(email.toLowerCase())?.avatar ?? "";
  return { name, avatar, emailAddress: email, when };
}
