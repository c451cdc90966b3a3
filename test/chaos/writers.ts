import type { Client } from "./client.ts";
import type { History } from "./history.ts";

export type Acknowledged = Readonly<{
  projects: string[];
  branches: string[];
  revoked: string[];
  /** Titles by their numbers. */
  issues: Map<number, string>;
  /** Number in the last title that was acknowledged. */
  title: { reached: number };
}>;

export type Writing = Readonly<{
  client: Client;
  token: string;
  basic: string;
  history: History;
  signal: AbortSignal;
  done: Acknowledged;
}>;

const ok = (status: number | undefined): boolean =>
  status !== undefined && status >= 200 && status < 300;

/** Runs `step` with 1, 2, 3 … until the run ends. */
async function loop({ signal }: Writing, step: (n: number) => Promise<void>): Promise<void> {
  for (let n = 1; !signal.aborted; n += 1) await step(n);
}

export function createProjects(writing: Writing): Promise<void> {
  const { client, token, done, history } = writing;
  return loop(writing, async (n) => {
    const alias = `made-${n}`;
    const body = { title: alias, alias, isPrivate: true };
    const answer = await client.write("POST", "/project", { token, body });
    if (ok(answer?.status)) done.projects.push(alias);
    else if (answer !== undefined) {
      history.note({ kind: "fault", what: `project ${alias}`, detail: answer.text });
    }
  });
}

/** Each of them becomes a delivery of the webhook. */
export function createBranches(writing: Writing): Promise<void> {
  const { client, token, done, history } = writing;
  return loop(writing, async (n) => {
    const body = { newBranch: `made-${n}`, originBranch: "main" };
    const answer = await client.write("POST", "/project/admin/watched/branch", { token, body });
    if (ok(answer?.status)) done.branches.push(body.newBranch);
    else if (answer !== undefined) {
      history.note({ kind: "fault", what: `branch ${body.newBranch}`, detail: answer.text });
    }
  });
}

/** Several at once: their numbers are taken beside each other. */
export async function createIssues(writing: Writing): Promise<void> {
  const { client, token, done, history } = writing;
  const write = (writer: number) =>
    loop(writing, async (n) => {
      const body = { title: `issue ${writer}-${n}`, description: "Why" };
      const answer = await client.write("POST", "/project/admin/watched/issue", { token, body });
      if (answer === undefined) return;
      const number = Number(answer.body["localId"]);
      if (!ok(answer.status) || done.issues.has(number)) {
        history.note({ kind: "fault", what: body.title, detail: answer.text });
      }
      done.issues.set(number, body.title);
    });
  await Promise.all([1, 2, 3].map(write));
}

/** A token that was revoked opens nothing any more, whatever is killed. */
export function revokeTokens(writing: Writing): Promise<void> {
  const { client, token, basic, done, history } = writing;
  return loop(writing, async (n) => {
    const name = `revoked-${n}`;
    const made = await client.write("POST", "/user/settings/access-token/create", {
      headers: { authorization: basic },
      body: { name, scopes: ["USER_READ"] },
    });
    if (made === undefined) return;
    const gone = await client.write("DELETE", `/user/settings/access-token/${name}`, { token });
    // Not found: an earlier attempt whose answer was lost.
    if (!ok(gone?.status) && gone?.status !== 404) return;
    done.revoked.push(String(made.body["token"]));
    for (const revoked of done.revoked.slice(-5)) {
      const { status } = await client.read("/user/me", revoked);
      if (ok(status)) history.note({ kind: "fault", what: "a revoked token was let in" });
    }
  });
}

/** What was acknowledged is what is read from then on. */
export function changeTitle(writing: Writing): Promise<void> {
  const { client, token, done, history } = writing;
  const at = "/project/admin/watched";
  return loop(writing, async (n) => {
    const body = { title: `title ${n}` };
    const answer = await client.write("PUT", `${at}/setting/change-setting`, { token, body });
    if (!ok(answer?.status)) return;
    done.title.reached = n;
    const shown = await client.read(at, token);
    if (ok(shown.status) && shown.body["title"] !== body.title) {
      history.note({ kind: "fault", what: "a stale title", detail: String(shown.body["title"]) });
    }
  });
}
