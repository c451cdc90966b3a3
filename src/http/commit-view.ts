import { z } from "zod";

import { type Commit, type Identity, subjectOf } from "../platform/git/object.ts";
import { type CommitAuthors, findCommitAuthors } from "../projections/commit-author.ts";
import { type RefView, refView } from "../projections/ref-view.ts";
import type { Deps } from "./deps.ts";
import { instant } from "./schema.ts";
import { presentUser, UserView } from "./user-view.ts";

export const IdentView = z
  .object({
    name: z.string(),
    avatar: z.string().meta({ description: "Empty when no account has proved the address." }),
    emailAddress: z.string(),
    when: instant(),
  })
  .meta({ id: "Ident" });

const VerificationView = z
  .object({ verified: z.boolean(), comment: z.string(), keyId: z.string() })
  .meta({ id: "CommitVerification" });

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

/** Commits with the accounts and branches they lead to, in two queries however many there are. */
export async function presentCommits(
  { db }: Pick<Deps, "db">,
  projectId: string,
  commits: readonly Commit[],
  known?: RefView,
): Promise<readonly z.input<typeof CommitView>[]> {
  const emails = commits.flatMap(({ author, committer }) => [author.email, committer.email]);
  const parents = [...new Set(commits.flatMap(({ parentIds }) => parentIds))];
  const [authors, heads] = await Promise.all([
    findCommitAuthors(db, emails),
    (known ?? (await refView(db, projectId))).branchesAt(parents),
  ]);
  return commits.map((commit) => {
    const author = authors.get(commit.author.email.toLowerCase());
    return {
      hash: commit.id,
      message: commit.message,
      shortMessage: subjectOf(commit.message),
      createdAt: commit.committer.when,
      committerIdent: presentIdent(commit.committer, authors),
      authorIdent: presentIdent(commit.author, authors),
      user: author === undefined ? null : presentUser(author),
      verificationResult: verification(commit),
      parentCommitIds: [...commit.parentIds],
      parentCommitBranches: heads
        .filter(({ commit_id }) => commit_id !== null && commit.parentIds.includes(commit_id))
        .map(({ name }) => name),
    };
  });
}

export function presentIdent(
  { name, email, when }: Identity,
  authors: CommitAuthors,
): z.input<typeof IdentView> {
  const avatar = authors.get(email.toLowerCase())?.avatar ?? "";
  return { name, avatar, emailAddress: email, when };
}

/** No keys for signatures are registered with accounts, so no signature can be vouched for. */
function verification({ signature }: Commit): z.input<typeof VerificationView> {
  const comment =
    signature === null ? "The commit is not signed." : "The signing key is not known here.";
  return { verified: false, comment, keyId: "" };
}
