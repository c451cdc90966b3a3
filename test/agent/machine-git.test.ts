import { readFile, rename } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import { shell } from "../../src/agent/executor.ts";
import { givenJobs } from "../support/app/carried-job.ts";
import { needsProgram } from "../support/process/program.ts";

/** As for containers: git runs on the machine, all else of the job elsewhere. */
const executor = { ...shell, name: "docker", isolated: true, git: undefined } as const;

describe("git on the machine of an agent", () => {
  needsProgram("bash");

  it("runs nothing that the job names", async () => {
    const { parent, run } = await givenJobs();
    const witness = path.join(parent, "witness");
    const { said, end, project } = await run({
      executor,
      variables: {
        PATH: "/nowhere",
        GIT_EXEC_PATH: "/nowhere",
        GIT_TRACE: witness,
        GIT_FETCH_EXTRA_FLAGS: `--upload-pack=touch\t${witness}`,
        GIT_SUBMODULE_STRATEGY: "recursive",
        GIT_SUBMODULE_UPDATE_FLAGS: `--reference=${parent}`,
      },
      hooks: [{ name: "pre_get_sources_script", script: [`/bin/touch ${witness}`] }],
    });
    expect(end, said).to.deep.equal({ state: "success" });
    expect(said).to.contain("runs no pre_get_sources_script");
    expect(await readFile(path.join(project, "a.txt"), "utf8")).to.equal("a\n");
    const found = await readFile(witness, "utf8").catch(() => undefined);
    expect(found).to.equal(undefined);
  });

  it("fetches again once a service that was away answers", async () => {
    const { repository, run } = await givenJobs();
    const away = `${repository}.away`;
    let requests = 0;
    const send = async (): Promise<Response> => {
      requests += 1;
      if (requests === 1) throw new TypeError("fetch failed");
      await rename(away, repository);
      return new Response(null, { status: 404 });
    };
    const leave = () => rename(repository, away);
    const { end, said, project } = await run({ executor, client: { send }, beforeRun: leave });
    expect(end, said).to.deep.equal({ state: "success" });
    const file = await readFile(path.join(project, "a.txt"), "utf8");
    expect([requests, file]).to.deep.equal([2, "a\n"]);
  });

  it("fails at once when the service is there and refuses", async () => {
    const { repository, run } = await givenJobs();
    const send = async (): Promise<Response> => new Response(null, { status: 404 });
    const leave = () => rename(repository, `${repository}.gone`);
    const { end } = await run({ executor, client: { send }, beforeRun: leave });
    expect(end).to.include({ reason: "script_failure" });
  });
});
