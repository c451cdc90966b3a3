import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";

import { git, tryGit } from "./git.ts";

const retryMs = 50;
const answerWithinMs = 10_000;

export type Client = Readonly<{ url: string; token: string }>;

/** What a writer was told had happened, in order. */
export type Writer<Acknowledged> = Readonly<{
  acknowledged: readonly Acknowledged[];
  /** Ends after the write that is under way. @throws what ended it before */
  stop: () => Promise<void>;
}>;

/** Does one thing after another until stopped; each is tried until its outcome is known. */
function startWriter<Acknowledged>(
  write: (n: number) => Promise<Acknowledged>,
): Writer<Acknowledged> {
  const acknowledged: Acknowledged[] = [];
  let stopping = false;
  const run = async (): Promise<void> => {
    for (let n = 1; !stopping; n += 1) acknowledged.push(await write(n));
  };
  const running = run();
  // Learnt of by whoever stops it.
  running.catch(() => undefined);
  return {
    acknowledged,
    stop: async () => {
      stopping = true;
      await running;
    },
  };
}

export type CreatedProject = Readonly<{ alias: string; id: string }>;

/** Creates projects; repeats a request with its key as long as nobody says what became of it. */
export function startProjectWriter(client: Client, prefix: string): Writer<CreatedProject> {
  return startWriter(async (n) => {
    const alias = `${prefix}-${n}`;
    const answer = await repeated(client, "/project", { title: alias, alias, isPrivate: true });
    return { alias, id: (answer as { id: string }).id };
  });
}

export type PushedBranch = Readonly<{ branch: string; commit: string }>;

/** Pushes a commit to a branch of its own each time, by git. */
export function startPusher(directory: string, remote: string): Writer<PushedBranch> {
  return startWriter(async (n) => {
    const branch = `branch-${n}`;
    await git(directory, "commit", "--quiet", "--allow-empty", "--message", branch);
    const commit = await git(directory, "rev-parse", "HEAD");
    const push = ["push", "--quiet", remote, `HEAD:refs/heads/${branch}`];
    while ((await tryGit(directory, push)).exitCode !== 0) await delay(retryMs);
    return { branch, commit };
  });
}

async function repeated({ url, token }: Client, at: string, body: object): Promise<unknown> {
  const headers = {
    authorization: `token ${token}`,
    "content-type": "application/json",
    "idempotency-key": randomUUID(),
  };
  for (;;) {
    try {
      const response = await fetch(url + at, {
        method: "POST",
        headers,
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(answerWithinMs),
      });
      const text = await response.text();
      if (response.ok) return JSON.parse(text);
      // Somebody decided: repeating it would not change that.
      if (response.status < 500) throw new Refused(`${at} answered ${response.status}: ${text}`);
    } catch (error) {
      if (error instanceof Refused) throw error;
    }
    await delay(retryMs);
  }
}

class Refused extends Error {}
