import { appendFile, cp } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import { repositoryStream } from "../../../src/events/repository/repository.ts";
import type { Answer, TestApp, TestProject, TestUser } from "../app/app.ts";
import { type Begun, beginAs, begunBy } from "./begun-project.ts";
import { commit, git, temporaryDirectory, workingCopy } from "./git.ts";

export type Answered = Answer<Record<string, unknown>>;

/** A project of anna's with a working copy of it, a developer bob and a reporter carl. */
export type RefWorld = Readonly<{
  project: TestProject;
  /** Of the working copy. */
  copy: string;
  /** The commit `main` stands at. */
  head: string;
  gitDir: string;
  at: (rest: string) => string;
  post: (user: TestUser, rest: string, body?: unknown, key?: string) => Promise<Answered>;
  delete: (user: TestUser, rest: string) => Promise<Answered>;
  remote: (user: TestUser) => string;
  /** `BranchCreated main by anna` … in the order of the log. */
  recordedChanges: () => Promise<readonly string[]>;
  refs: () => Promise<ReadonlyMap<string, string>>;
}>;

export type People = Readonly<{ anna: TestUser; bob: TestUser; carl: TestUser }>;

export async function givenPeople(app: TestApp): Promise<People> {
  return {
    anna: await app.givenUser("anna"),
    bob: await app.givenUser("bob"),
    carl: await app.givenUser("carl"),
  };
}

/**
 * Makes such worlds for a test file, each with a project of its own. What they begin with is made once, by requests
 * and a push, and copied: `more` adds to it, and branches it makes are pushed as well.
 */
export async function refWorlds(
  app: TestApp,
  more: (copy: string) => Promise<unknown> = async () => undefined,
): Promise<(people: People) => Promise<RefWorld>> {
  const parent = await temporaryDirectory();
  const first = await workingCopy(parent, "first");
  const head = await commit(first, "First", { "a.txt": "a\n" });
  await more(first);
  let count = 0;
  let begun: Begun | undefined;
  return async ({ anna, bob, carl }) => {
    count += 1;
    const project = await app.givenProject(anna, `project-${count}`);
    const at = (rest: string) => `/project/anna/${project.alias}${rest}`;
    const post = (user: TestUser, rest: string, body: unknown = {}, key?: string) =>
      app.post(at(rest), {
        token: user.token,
        body,
        ...(key === undefined ? {} : { headers: { "idempotency-key": key } }),
      });
    const invite = async (role: string, { alias: userAlias }: TestUser) => {
      const { status, text } = await post(anna, "/member/invite", { userAlias, role });
      expect(status, text).to.equal(200);
    };
    const remote = (user: TestUser): string => {
      const url = new URL(at(".git"), app.url);
      Object.assign(url, { username: user.alias, password: user.token });
      return url.href;
    };
    const copy = path.join(parent, project.alias);
    await cp(first, copy, { recursive: true });
    await appendFile(path.join(copy, ".git", "config"), originOf(remote(anna)));
    if (begun === undefined) {
      await invite("DEVELOPER", bob);
      await invite("REPORTER", carl);
      await git(copy, "push", "--quiet", "--all", "origin");
      begun = await begunBy(app, project, parent);
    } else {
      await beginAs(app, project, begun);
    }
    const repository = await app.platform.git.find(project.id);
    return {
      project,
      copy,
      head,
      gitDir: repository?.gitDir ?? "",
      at,
      post,
      delete: (user, rest) => app.delete(at(rest), { token: user.token }),
      remote,
      async recordedChanges() {
        const changes: string[] = [];
        const stream = repositoryStream(project.id);
        for await (const { type, data, metadata } of app.platform.store.readStream(stream)) {
          const who = metadata.actor.alias ?? "the system";
          changes.push(`${type} ${data["branch"] ?? data["tag"]} by ${who}`);
        }
        return changes;
      },
      async refs() {
        return (await repository?.refs()) ?? new Map();
      },
    };
  };
}

/** What `git remote add` writes. */
const originOf = (url: string) =>
  `[remote "origin"]\n\turl = ${url}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n`;
