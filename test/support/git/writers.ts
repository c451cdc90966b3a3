import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";

import { git, tryGit } from "./git.ts";

const retryMs = 50;
const answerWithinMs = 10_000;

export type Client = Readonly<{ url: string; token: string }>;

/** The writes that were acknowledged to a writer, in order. */
export type Writer<Acknowledged> = Readonly<{
  acknowledged: readonly Acknowledged[];
  /** Rejects when a write was refused; never resolves. */
  failed: Promise<never>;
  /** Ends after the write that is under way. @throws what ended it before */
  stop: () => Promise<void>;
  /** Ends at once, whatever becomes of the write that is under way. */
  abandon: () => void;
}>;

/** Does one thing after another until stopped; each is tried until its outcome is known. */
function startWriter<Acknowledged>(
  write: (n: number, signal: AbortSignal) => Promise<Acknowledged>,
): Writer<Acknowledged> {
  const abandoned = new AbortController();
  const acknowledged: Acknowledged[] = [];
  let stopping = false;
  const run = async (): Promise<void> => {
    for (let n = 1; !stopping; n += 1) acknowledged.push(await write(n, abandoned.signal));
  };
  const running = run();
  const failed = running.then(() => new Promise<never>(() => undefined));
  // The caller that waits for it or stops it receives the error.
  failed.catch(() => undefined);
  return {
    acknowledged,
    failed,
    abandon: () => abandoned.abort(),
    stop: async () => {
      stopping = true;
      await running;
    },
  };
}

export type CreatedProject = Readonly<{ alias: string; id: string }>;

/** Creates projects; repeats a request with its key as long as nobody says what became of it. */
export function startProjectWriter(client: Client, prefix: string): Writer<CreatedProject> {
  return startWriter(async (n, signal) => {
    const alias = `${prefix}-${n}`;
    const project = { title: alias, alias, isPrivate: true };
    const answer = await repeated(client, "/project", project, signal);
    return { alias, id: (answer as { id: string }).id };
  });
}

export type PushedBranch = Readonly<{ branch: string; commit: string }>;

/** Pushes a commit to a branch of its own each time, by git. */
export function startPusher(directory: string, remote: string): Writer<PushedBranch> {
  return startWriter(async (n, signal) => {
    const branch = `branch-${n}`;
    await git(directory, "commit", "--quiet", "--allow-empty", "--message", branch);
    const commit = await git(directory, "rev-parse", "HEAD");
    const push = ["push", "--quiet", remote, `HEAD:refs/heads/${branch}`];
    while ((await tryGit(directory, push)).exitCode !== 0) {
      await delay(retryMs, undefined, { signal });
    }
    return { branch, commit };
  });
}

async function repeated(
  { url, token }: Client,
  at: string,
  body: object,
  signal: AbortSignal,
): Promise<unknown> {
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
      // Without a Retry-After the refusal is a decision: repeating the request would not change it.
      const comeBack = response.status >= 500 || response.headers.has("retry-after");
      if (!comeBack) throw new Refused(`${at} answered ${response.status}: ${text}`);
    } catch (error) {
      if (error instanceof Refused) throw error;
    }
    await delay(retryMs, undefined, { signal });
  }
}

class Refused extends Error {}
