import { expect } from "chai";
import { repositoryStream } from "../../../src/events/repository/repository.ts";
import { startTestApp, type TestProject, type TestUser } from "../app/app.ts";
import { eventually } from "../app/eventually.ts";
import { git, temporaryDirectory, workingCopy } from "../git/git.ts";

export type Entry = Readonly<{
  userSimple: Readonly<{ username: string }>;
  pushedFileExtensions: readonly Readonly<{ fileExtension: string; percent: string }>[];
}>;

const percentsOf = ([entry]: readonly Entry[]) =>
  Object.fromEntries(
    entry!.pushedFileExtensions.map(({ fileExtension, percent }) => [fileExtension, percent]),
  );

export async function givenPushStats() {
  const app = await startTestApp({ workers: true });
  const parent = await temporaryDirectory();
  let count = 0;
  let anna: TestUser;
  let bob: TestUser;
  let root: TestUser;
  let project: TestProject;
  let copy: string;
  before(async () => {
    root = await app.givenUser("root", { admin: true });
  });
  beforeEach(async () => {
    count += 1;
    anna = await app.givenUser(`anna-${count}`);
    bob = await app.givenUser(`bob-${count}`);
    project = await app.givenProject(anna, "search", { private: false });
    const body = { userAlias: bob.alias, role: "DEVELOPER" };
    await app.post(`/project/${anna.alias}/search/member/invite`, { token: anna.token, body });
    copy = await workingCopy(parent, `copy-${count}`);
  });
  function remote(user: TestUser, at = `${anna.alias}/search`): string {
    const url = new URL(`/project/${at}.git`, app.url);
    return Object.assign(url, { username: user.alias, password: user.token }).href;
  }
  const push = (user: TestUser, ...refspecs: string[]) =>
    git(copy, "push", "--quiet", remote(user), ...refspecs);
  async function lastRevision(stream: string, of: (data: Record<string, unknown>) => unknown) {
    for await (const event of app.platform.store.readStreamBackwards(stream, 1)) {
      return of({ ...event.data, revision: Number(event.revision) });
    }
    return undefined;
  }
  /** Once everything pushed to the project so far is counted: what the user's statistics say. */
  async function statsOf(user: TestUser, projectId: string = project.id) {
    const last = await lastRevision(repositoryStream(projectId), ({ revision }) => revision);
    await eventually(async () => {
      const row = await app.deps
        .db("push_count_progress")
        .where({ project_id: projectId })
        .first("revision");
      return Number(row?.revision ?? -1) >= Number(last);
    });
    const at = `/user/push-stats/specified-users?userAlias=${user.alias}`;
    const { body, status, text } = await app.get(at, { token: root.token });
    expect(status, text).to.equal(200);
    return percentsOf(body["pushStats"] as Entry[]);
  }
  return {
    ...{ app, remote, push, lastRevision, statsOf },
    get count() {
      return count;
    },
    get anna() {
      return anna;
    },
    get bob() {
      return bob;
    },
    get root() {
      return root;
    },
    get project() {
      return project;
    },
    get copy() {
      return copy;
    },
  };
}
