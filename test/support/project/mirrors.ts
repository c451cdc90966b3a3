import { expect } from "chai";
import { mirrorStream } from "../../../src/events/project/mirror.ts";
import { type Send, startTestApp, type TestUser } from "../app/app.ts";
import { eventually } from "../app/eventually.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../git/git.ts";
import { startGitServer } from "../git/git-server.ts";

export const as = (user: TestUser, body?: unknown): Send => ({ token: user.token, body });

export const at = (alias: string) => `/project/anna/${alias}`;

export const token = "a+token/with=odd:signs";

export async function givenMirrors() {
  const app = await startTestApp({ workers: true });
  const other = await startGitServer();
  const parent = await temporaryDirectory();
  let anna: TestUser;
  let copy: string;
  const remote = (alias: string) => {
    const url = new URL(`${at(alias)}.git`, app.url);
    return Object.assign(url, { username: "anna", password: anna.token }).href;
  };
  /** Names and ids of branches and tags. */
  const refsAt = (url: string) => git(copy, "ls-remote", "--heads", "--tags", url);
  const mirrored = (alias: string, name: string) =>
    eventually(
      async () => (await refsAt(remote(alias))) === (await refsAt(other.url(name))),
      60_000,
    );
  const state = async (alias: string) => (await app.get(`${at(alias)}/mirror`, as(anna))).body;
  const failure = (alias: string) =>
    eventually(async () => {
      const { errorCode } = await state(alias);
      return typeof errorCode === "string" && errorCode;
    }, 60_000);
  const recordedTypes = async (stream: string) => {
    const events: string[] = [];
    for await (const event of app.platform.store.readStream(stream)) events.push(event.type);
    return events;
  };
  const mirrorEvents = async (id: string) => recordedTypes(mirrorStream(id));
  /** A project of anna's and, on the other server, a repository with a history. */
  async function given(name: string): Promise<string> {
    await other.create(name);
    await git(copy, "push", "--quiet", other.url(name), "main", "main:dev", "v1");
    return (await app.givenProject(anna, name)).id;
  }
  async function mirror(name: string, body: object): Promise<Record<string, unknown>> {
    const answer = await app.post(
      `${at(name)}/mirror`,
      as(anna, { url: other.url(name), ...body }),
    );
    expect(answer.status, answer.text).to.equal(200);
    return answer.body;
  }
  before(async () => {
    anna = await app.givenUser("anna");
    const root = await app.givenUser("root", { admin: true });
    const body = { projectUpdateLag: 1 };
    expect((await app.post("/admin/settings/mirrors", as(root, body))).status).to.equal(200);
    copy = await workingCopy(parent, "copy");
    await commit(copy, "One", { "a.txt": "a\n" });
    await git(copy, "tag", "-a", "v1", "-m", "Version 1");
  });
  beforeEach(() => other.reset());
  return {
    ...{ app, other, remote, refsAt, mirrored, state },
    ...{ failure, recordedTypes, mirrorEvents, given, mirror },
    get anna() {
      return anna;
    },
    get copy() {
      return copy;
    },
  };
}
