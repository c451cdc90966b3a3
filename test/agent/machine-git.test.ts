import { mkdir, readFile } from "node:fs/promises";
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
    const parent = await temporaryDirectory();
    const copy = await workingCopy(parent, "search");
    await commit(copy, "First", { "a.txt": "a\n" });
    const sha = (await git(copy, "rev-parse", "HEAD")).trim();
    const witness = path.join(parent, "witness");
    const job = Job.parse({
      ...{ id: 1, token: "secret-of-job" },
      job_info: { name: "test", project_id: 1, project_name: "search" },
      git_info: { repo_url: `file://${copy}`, sha, refspecs: ["+refs/heads/*:refs/heads/*"] },
      runner_info: {},
      variables: [
        { key: "PATH", value: "/nowhere" },
        { key: "GIT_EXEC_PATH", value: "/nowhere" },
        { key: "GIT_TRACE", value: witness },
        { key: "GIT_FETCH_EXTRA_FLAGS", value: `--upload-pack=touch\t${witness}` },
        { key: "GIT_SUBMODULE_STRATEGY", value: "recursive" },
      ],
      hooks: [{ name: "pre_get_sources_script", script: [`/bin/touch ${witness}`] }],
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
      ...{ client: {} as Client, cacheDirectory: path.join(parent, "cache") },
    });
    log.end();
    log.close();
    const said = await readFile(path.join(root, "log"), "utf8");
    expect(end, said).to.deep.equal({ state: "success" });
    expect(said).to.contain("runs no pre_get_sources_script");
    expect(await readFile(path.join(place.project, "a.txt"), "utf8")).to.equal("a\n");
    const found = await readFile(witness, "utf8").catch(() => undefined);
    expect(found).to.equal(undefined);
  });
});
