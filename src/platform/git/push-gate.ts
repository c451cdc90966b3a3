import { randomUUID } from "node:crypto";
import { accessSync, chmodSync, constants, mkdirSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Duplex } from "node:stream";

import { listingLimit } from "./environment.ts";
import { GitFailure } from "./failure.ts";
import { runGit } from "./run.ts";

/** Where the new objects of a push are until it is decided on; see "Quarantine" in git-receive-pack(1). */
export type Quarantine = Readonly<{
  gitDir: string;
  /** Directory of the objects that came. */
  objects: string;
}>;

/** Decides on a push whose objects are here and whose refs are not changed: what to tell when not. */
export type PushGate = (quarantine: Quarantine) => Promise<readonly string[]>;

/** Number of the line between the hook and us. */
export const gateDescriptor = 3;

/**
 * The only hook there is, and it decides nothing: it tells us where the objects are and does what it is
 * told. It runs only in pushes that somebody has to look into.
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

/** Answers the hook when it asks. Whatever goes wrong, the push does not go on. */
export function keepGate(line: Duplex, gitDir: string, gate: PushGate): void {
  let asked = "";
  line.setEncoding("utf8");
  line.on("error", () => line.destroy());
  line.on("data", (text: string) => {
    asked += text;
    if (asked.length > quarantineBytesMax) line.destroy();
    if (!asked.endsWith("\n")) return;
    decide(asked.trimEnd(), gitDir, gate).then(
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
  const inside = path.relative(path.resolve(gitDir), path.resolve(objects));
  if (objects === "" || inside.startsWith("..") || path.isAbsolute(inside)) {
    throw new GitFailure("receive-pack", null, "a quarantine outside of the repository");
  }
  return gate({ gitDir, objects });
}

/**
 * Paths that commits touch which are new to the repository: as each of them changed its parent, a
 * merge where it is like none of its parents.
 *
 * @param tips object ids that refs shall have
 */
export async function pathsTouched(
  { gitDir, objects }: Quarantine,
  tips: readonly string[],
): Promise<ReadonlySet<string>> {
  if (tips.length === 0) return new Set();
  const env = {
    GIT_OBJECT_DIRECTORY: objects,
    GIT_ALTERNATE_OBJECT_DIRECTORIES: path.join(gitDir, "objects"),
    ...listingLimit,
  };
  const { stdout } = await runGit(
    gitDir,
    [
      "log",
      ...["--format=", "--name-only", "--no-renames", "-z", "-c", "--root"],
      // The second one turns it round again: what all refs reach is left out.
      ...["--not", "--all", "--not", "--end-of-options", ...tips],
    ],
    { env, bytesMax: pathBytesMax },
  );
  return new Set(stdout.toString("utf8").split("\0").filter(Boolean));
}
