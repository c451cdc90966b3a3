import { expect } from "chai";
import { startGitlabRunner } from "../support/agent/gitlab-runner.ts";
import { startOwnAgent } from "../support/agent/own-agent.ts";
import { pipelinesOf } from "../support/agent/pipeline-app.ts";
import { startTestApp } from "../support/app/app.ts";
import { basicAuth } from "../support/app/basic-auth.ts";
import { eventually as within } from "../support/app/eventually.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../support/git/git.ts";
import { needsProgram } from "../support/process/program.ts";

needsProgram("bash");
/** There is no such machine: a connection to it fails. */
const sshHost = "ssh.example.test";
const app = await startTestApp({ workers: true, publicSshHost: sshHost });
const root = await app.givenUser("root", { admin: true });
const anna = await app.givenUser("anna");
const { token } = anna;
await app.givenProject(anna, "library", { private: false });

const remoteOf = (alias: string) => new URL(`/project/anna/${alias}.git`, app.url).href;
const push = (copy: string, alias: string) => {
  const login = `http.extraHeader=Authorization: ${basicAuth("anna", token)}`;
  return git(copy, "-c", login, "push", "--quiet", remoteOf(alias), "HEAD:main");
};

before(async () => {
  const copy = await workingCopy(await temporaryDirectory(), "library");
  await commit(copy, "First", { "a.txt": "of the library" });
  await push(copy, "library");
});

const file = `
build:
  script: [cat library/a.txt]
  variables: {GIT_SUBMODULE_STRATEGY: normal, GIT_SUBMODULE_FORCE_HTTPS: "true"}
`;

type Port = number | null;

/** Pushes a project whose submodule has this address. @returns the log of its job, once it has ended */
async function logOf(alias: string, address: string, port: Port): Promise<string> {
  const group = { enableCustomSshPort: port !== null, ...(port && { sshPort: port }) };
  await app.post("/admin/settings/ssh", { token: root.token, body: group });
  const at = pipelinesOf(app, anna, await app.givenProject(anna, alias));
  const copy = await workingCopy(await temporaryDirectory(), alias);
  await git(copy, "submodule", "--quiet", "add", remoteOf("library"), "library");
  const modules = `[submodule "library"]\n\tpath = library\n\turl = ${address}\n`;
  await commit(copy, "Add", { ".gitmodules": modules, ".forge-ci.yaml": file });
  await push(copy, alias);
  const pipeline = await within(async () => {
    const [started] = await at.pipelines();
    return ["SUCCESS", "FAILED"].includes(String(started?.["status"])) ? started : undefined;
  }, 180_000);
  const [build] = await at.jobs(pipeline?.["localId"]);
  return (await app.get(`${at.base}/cicd/job/${build?.["localId"]}/log`, { token })).text;
}

const addresses: readonly (readonly [string, string, Port])[] = [
  ["scp", `git@${sshHost}:anna/library.git`, null],
  ["url", `ssh://git@${sshHost}/anna/library.git`, null],
  ["port", `ssh://git@${sshHost}:2222/anna/library.git`, 2222],
];

function fetchesThem(agent: string): void {
  for (const [form, address, port] of addresses) {
    it(`fetches the submodule ${address} over HTTP`, async () => {
      const log = await logOf(`${agent}-${form}`, address, port);
      expect(log).to.include("of the library");
    });
  }
}

const everywhere = { base: "/admin/runners", token: root.token };

describe("GIT_SUBMODULE_FORCE_HTTPS with the own agent", () => {
  let agent: Awaited<ReturnType<typeof startOwnAgent>> | undefined;
  before(async () => {
    agent = await startOwnAgent(app, everywhere);
  });
  after(() => agent?.stop());

  fetchesThem("own");
});

describe("GIT_SUBMODULE_FORCE_HTTPS with gitlab-runner", () => {
  needsProgram("gitlab-runner");
  let runner: Awaited<ReturnType<typeof startGitlabRunner>> | undefined;
  before(async () => {
    runner = await startGitlabRunner(app, everywhere);
  });
  after(() => runner?.stop());

  fetchesThem("real");
});
