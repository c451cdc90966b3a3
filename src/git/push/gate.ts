import { randomUUID } from "node:crypto";
import { accessSync, chmodSync, constants, mkdirSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Duplex } from "node:stream";

import { listingLimit } from "../environment.ts";
import { GitFailure } from "../failure.ts";
import { runGit } from "../run.ts";

/** Where the new objects of a push are until it is decided on; see "Quarantine" in git-receive-pack(1). */
export type Quarantine = Readonly<{
  gitDir: string;
  /** Directory of the objects that came. */
  objects: string;
}>;

/**
 * Decides on a push whose objects are here and whose refs are not changed: what to report when not. A push
 * that only deletes brings no objects and has no quarantine.
 */
export type PushGate = (quarantine: Quarantine | undefined) => Promise<readonly string[]>;

/** Number of the line between the hook and us. */
export const gateDescriptor = 3;

/**
 * The only hook there is, and it decides nothing: it sends us the directory of the objects and obeys our
 * verdict.
 */
const hook = `#!/bin/sh
printf '%s\\n' "$GIT_QUARANTINE_PATH" >&${gateDescriptor} || exit 1
read -r verdict <&${gateDescriptor} || exit 1
while IFS= read -r line <&${gateDescriptor} && [ -n "$line" ]; do printf '%s\\n' "$line" >&2; done
[ "$verdict" = go ]
`;

const pathBytesMax = 64 * 1024 ** 2;
const quarantineBytesMax = 8 * 1024;

const installed = new Set<string>();

/**
 * Puts the hook into a directory of ours, whole or not at all, once a process.
 *
 * @throws when it cannot be executed there: git would go on without asking
 */
export function installGate(directory: string): void {
  if (installed.has(directory)) return;
  mkdirSync(directory, { recursive: true });
  const place = path.join(directory, "pre-receive");
  const draft = path.join(directory, `.${randomUUID()}`);
  writeFileSync(draft, hook);
  chmodSync(draft, 0o700);
  renameSync(draft, place);
  accessSync(place, constants.X_OK);
  installed.add(directory);
}

/** Answers the request of the hook. Any error refuses the push. */
export function keepGate(line: Duplex, gitDir: string, gate: PushGate): void {
  let received = "";
  line.setEncoding("utf8");
  line.on("error", () => line.destroy());
  line.on("data", (text: string) => {
    received += text;
    if (received.length > quarantineBytesMax) line.destroy();
    if (!received.endsWith("\n")) return;
    decide(received.trimEnd(), gitDir, gate).then(
      (reasons) => {
        const verdict = reasons.length === 0 ? "go" : "stop";
        const lines = reasons.map((reason) => reason.replaceAll(/[\p{Cc}]+/gu, " "));
        line.end([verdict, ...lines, "", ""].join("\n"));
      },
      () => line.end("stop\nThe push could not be looked into. Try again.\n\n"),
    );
  });
}

async function decide(objects: string, gitDir: string, gate: PushGate): Promise<readonly string[]> {
  if (objects === "") return gate(undefined);
  const inside = path.relative(path.resolve(gitDir), path.resolve(objects));
  if (inside.startsWith("..") || path.isAbsolute(inside)) {
    throw new GitFailure("receive-pack", null, "a quarantine outside of the repository");
  }
  return gate({ gitDir, objects });
}

/** The change of one ref by a push; null where the ref does not exist before or after. */
export type RefMove = Readonly<{ ref: string; before: string | null; after: string | null }>;

/**
 * Paths that a push touches: those of commits which are new to the repository, as each of them changed
 * its parent, a merge where it is like none of its parents; and those in which the new state of a branch
 * differs from its state before. The second part finds what no new commit shows: a branch that is set
 * back, or that takes in commits which were there already.
 */
export async function pathsTouched(
  quarantine: Quarantine | undefined,
  moves: readonly RefMove[],
): Promise<ReadonlySet<string>> {
  const tips = moves.flatMap(({ after }) => after ?? []);
  if (tips.length === 0) return new Set();
  if (quarantine === undefined) throw new GitFailure("receive-pack", null, "no quarantine");
  const { gitDir, objects } = quarantine;
  const env = {
    GIT_OBJECT_DIRECTORY: objects,
    GIT_ALTERNATE_OBJECT_DIRECTORIES: path.join(gitDir, "objects"),
    ...listingLimit,
  };
  const limits = { env, bytesMax: pathBytesMax };
  const listing = ["--name-only", "--no-renames", "-z"];
  // The second `--not` ends the first: what refs reach is left out. The versions that merge requests keep
  // do not count: those of a fork were never held against locks.
  const kept = "--exclude=refs/merge-requests/*";
  const range = ["--not", kept, "--all", "--not", "--end-of-options", ...tips];
  const news = await runGit(
    gitDir,
    ["log", "--format=", ...listing, "-c", "--root", ...range],
    limits,
  );
  const input = moves.flatMap(branchMove).join("");
  const changes =
    input === ""
      ? undefined
      : await runGit(gitDir, ["diff-tree", "--stdin", "-r", "--no-commit-id", ...listing], {
          ...limits,
          input,
        });
  const outputs = [news.stdout, changes?.stdout ?? Buffer.alloc(0)];
  return new Set(outputs.flatMap((output) => output.toString("utf8").split("\0").filter(Boolean)));
}

/** A commit and the one it is compared with, as `git diff-tree --stdin` takes them. */
function branchMove({ ref, before, after }: RefMove): readonly string[] {
  if (before === null || after === null || !ref.startsWith("refs/heads/")) return [];
  return [`${after} ${before}\n`];
}
