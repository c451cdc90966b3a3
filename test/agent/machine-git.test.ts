import { mkdir, readFile, rename } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import type { Client } from "../../src/agent/client.ts";
import { shell, workplaceOf } from "../../src/agent/executor.ts";
import { Job } from "../../src/agent/job.ts";
import { carryOut } from "../../src/agent/job-run.ts";
import { LogFile } from "../../src/agent/log-file.ts";
import { environmentOf } from "../../src/agent/variables.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../support/git.ts";
import { needsProgram } from "../support/program.ts";

/** As for containers: git runs on the machine, all else of the job elsewhere. */
const container = { ...shell, name: "docker", isolated: true, hasGit: false } as const;

describe("git on the machine of an agent", () => {
  needsProgram("bash");

  it("runs nothing that the job names", async () => {
    const { parent, run } = await given();
    const witness = path.join(parent, "witness");
    const { said, end, file } = await run({
      variables: [
        { key: "PATH", value: "/nowhere" },
        { key: "GIT_EXEC_PATH", value: "/nowhere" },
        { key: "GIT_TRACE", value: witness },
        { key: "GIT_FETCH_EXTRA_FLAGS", value: `--upload-pack=touch\t${witness}` },
        { key: "GIT_SUBMODULE_STRATEGY", value: "recursive" },
      ],
      hooks: [{ name: "pre_get_sources_script", script: [`/bin/touch ${witness}`] }],
    });
    expect(end, said).to.deep.equal({ state: "success" });
    expect(said).to.contain("runs no pre_get_sources_script");
    expect(file).to.equal("a\n");
    const found = await readFile(witness, "utf8").catch(() => undefined);
    expect(found).to.equal(undefined);
  });

  it("fetches again once a service that was away answers", async () => {
    const { repository, run } = await given();
    const away = `${repository}.away`;
    await rename(repository, away);
    let requests = 0;
    const send = async (): Promise<Response> => {
      requests += 1;
      if (requests === 1) throw new TypeError("fetch failed");
      await rename(away, repository);
      return new Response(null, { status: 404 });
    };
    const { end, said, file } = await run({ client: { send } });
    expect(end, said).to.deep.equal({ state: "success" });
    expect([requests, file]).to.deep.equal([2, "a\n"]);
  });

  it("fails at once when the service is there and refuses", async () => {
    const { repository, run } = await given();
    await rename(repository, `${repository}.gone`);
    const send = async (): Promise<Response> => new Response(null, { status: 404 });
    expect((await run({ client: { send } })).end).to.include({ reason: "script_failure" });
  });
});

type More = Readonly<{ client?: Client; variables?: unknown; hooks?: unknown }>;

async function given() {
  const parent = await temporaryDirectory();
  const repository = await workingCopy(parent, "search");
  await commit(repository, "First", { "a.txt": "a\n" });
  const sha = (await git(repository, "rev-parse", "HEAD")).trim();
  const run = async ({ client = {} as Client, ...more }: More) => {
    const job = Job.parse({
      ...{ id: 1, token: "secret-of-job" },
      job_info: { name: "test", project_id: 1, project_name: "search" },
      git_info: { repo_url: `file://${repository}`, sha, refspecs: ["+refs/heads/*:refs/heads/*"] },
      ...{ runner_info: {}, ...more },
    });
    const root = path.join(parent, "job");
    await mkdir(root);
    const place = await workplaceOf("shell", { root, job, mark: "machine-git-test" });
    const about = { timeoutSeconds: 60, slot: 0, version: "1", isolated: true };
    const environment = environmentOf({ job, place, ...about });
    const log = new LogFile(path.join(root, "log"), []);
    const never = new AbortController().signal;
    const end = await carryOut({
      ...{ job, executor: container, place, environment, log, script: never, over: never },
      ...{ client, cacheDirectory: path.join(parent, "cache") },
    });
    log.end();
    log.close();
    const said = await readFile(path.join(root, "log"), "utf8");
    const file = await readFile(path.join(place.project, "a.txt"), "utf8").catch(() => undefined);
    return { end, said, file };
  };
  return { parent, repository, run };
}
