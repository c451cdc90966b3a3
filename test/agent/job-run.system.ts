import { execFile } from "node:child_process";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";

import { openExecutor, shell } from "../../src/agent/executor.ts";
import { Job } from "../../src/agent/job.ts";
import { sourcesOf } from "../../src/agent/sources.ts";
import { needsSandbox } from "../support/agent/own-agent.ts";
import { givenJobs } from "../support/app/carried-job.ts";
import { zip } from "../support/git/archive.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../support/git/git.ts";
import { needsProgram } from "../support/process/program.ts";

const canceled = { state: "failed", reason: "job_canceled" };
const sha = "a".repeat(40);
const none = { GIT_STRATEGY: "none" };

/**
 * The trap ends the script; what its own process group holds gets the signal as well. A program that has the usual
 * handlers says that it runs: bash loses a signal that reaches its child before that becomes the program.
 */
const cleansUp = {
  variables: none,
  script: ["trap 'echo cleaned up; exit 4' TERM", "sh -c 'echo begun; sleep 300'"],
  afterScript: ["echo after $CI_JOB_STATUS"],
  canceledAt: "\nbegun",
};

describe("a job of the own agent that is canceled", () => {
  needsProgram("bash");

  it("gets SIGTERM, and then its after_script is run", async () => {
    const { run } = await givenJobs();
    const { end, said } = await run(cleansUp);
    expect(end).to.deep.equal(canceled);
    expect(said).to.match(/^cleaned up\n.*^after canceled$/ms);
  });

  it("runs no after_script before its script has begun", async () => {
    const { run } = await givenJobs();
    const hooks = [{ name: "pre_get_sources_script", script: ["echo begun", "sleep 300"] }];
    const { end, said } = await run({ ...cleansUp, hooks });
    expect(end).to.deep.equal(canceled);
    expect(said).not.to.include("after canceled");
  });
});

const opening = { readable: [], hidden: [], pullPolicies: [] };

describe("a job of the own agent that is canceled while its files are packed", () => {
  needsProgram("bash");

  const large = { paths: ["large"] };
  for (const [kind, fields, canceledAt] of [
    ["cache", { cache: [{ key: "kept", ...large }] }, "Saving cache"],
    ["artifact", { artifacts: [{ ...large, artifact_format: "zip" }] }, "found 1 files"],
  ] as const) {
    it(`ends at once, and leaves no ${kind}`, async () => {
      const { parent, run } = await givenJobs();
      const script = ["truncate -s 60G large"];
      const { end, said } = await run({ variables: none, script, fields, canceledAt });
      expect(end).to.deep.equal(canceled);
      expect(said).to.include("it was canceled");
      const left = await readdir(parent, { recursive: true });
      expect(left.filter((name) => /\.(?:zip|new|artifact)$/.test(name))).to.deep.equal([]);
    }).timeout(30_000);
  }
});

describe("a job in a sandbox that is canceled", () => {
  needsSandbox();

  it("gets SIGTERM, and then its after_script is run", async () => {
    const { run } = await givenJobs();
    const executor = await openExecutor("bubblewrap", opening);
    const { end, said } = await run({ ...cleansUp, executor });
    expect(end).to.deep.equal(canceled);
    expect(said).to.match(/^cleaned up\n.*^after canceled$/ms);
  });

  it("has no descriptor of the agent", async () => {
    const { run } = await givenJobs();
    const executor = await openExecutor("bubblewrap", opening);
    const { end, said } = await run({
      ...{ variables: none, executor },
      script: ["test ! -e /proc/$$/fd/3"],
    });
    expect(end, said).to.deep.equal({ state: "success" });
  });
});

describe("a job in a sandbox that puts a link in the place of its project", () => {
  needsSandbox();

  const swap = (to: string): readonly string[] => [
    'mv "$CI_PROJECT_DIR" "$CI_PROJECT_DIR.away"',
    `ln -s ${to} "$CI_PROJECT_DIR"`,
  ];

  it("before artifacts of other jobs are unpacked fails, and nothing is written there", async () => {
    const { parent, run } = await givenJobs();
    const elsewhere = path.join(parent, "elsewhere");
    await mkdir(elsewhere);
    const { end, said } = await run({
      ...{ variables: none, executor: await openExecutor("bubblewrap", opening) },
      client: { send: async () => new Response(zip([["authorized_keys", "x"]])) },
      hooks: [{ name: "pre_get_sources_script", script: swap(elsewhere) }],
      fields: {
        dependencies: [{ id: 9, token: "t", name: "one", artifacts_file: { filename: "a.zip" } }],
      },
    });
    expect(await readdir(elsewhere)).to.deep.equal([]);
    expect(end, said).to.deep.equal({ state: "failed", reason: "script_failure", exitCode: 1 });
  });

  it("in the place of git, which lists what is cached, has nothing cached from there", async () => {
    const { parent, run } = await givenJobs();
    const elsewhere = path.join(parent, "elsewhere");
    await mkdir(elsewhere);
    await writeFile(path.join(elsewhere, "secret"), "of the machine");
    const fake = ["#!/bin/sh", ...swap(elsewhere), "printf 'secret\\0'"];
    const { said } = await run({
      variables: { ...none, PATH: "$CI_PROJECT_DIR.bin:/usr/bin:/bin" },
      executor: await openExecutor("bubblewrap", opening),
      script: [
        'mkdir "$CI_PROJECT_DIR.bin"',
        `cat > "$CI_PROJECT_DIR.bin/git" <<'EOF'\n${fake.join("\n")}\nEOF`,
        'chmod +x "$CI_PROJECT_DIR.bin/git"',
      ],
      fields: { cache: [{ key: "kept", untracked: true }] },
    });
    expect(said).to.include("The cache was not stored: the directory of the project is gone");
    expect(said).not.to.match(/Cached \d/);
  });
});

describe("a job that removes its project", () => {
  needsProgram("bash");

  it("succeeds, and has neither artifacts nor a cache", async () => {
    const { run } = await givenJobs();
    const paths = ["out"];
    const { end, said } = await run({
      ...{ variables: none, script: ['cd .. && rm -rf "$CI_PROJECT_DIR"'] },
      fields: { artifacts: [{ paths }, { untracked: true }], cache: [{ key: "kept", paths }] },
    });
    expect(end, said).to.deep.equal({ state: "success" });
    expect(said).to.include("out: no file fits").and.include("untracked: no file fits");
    expect(said).to.include("Nothing to cache for kept");
  });
});

describe("a job whose containers cannot be removed", () => {
  needsProgram("bash");

  it("fails, and nothing of it is stored", async () => {
    const { run } = await givenJobs();
    const remove = async (): Promise<void> => {
      throw new Error("the engine does not answer");
    };
    const { end, said } = await run({
      ...{ variables: none, executor: { ...shell, remove } },
      script: ["echo kept > file"],
      fields: { cache: [{ key: "kept", paths: ["file"], when: "always" }] },
    });
    expect(end).to.deep.equal({ state: "failed", reason: "runner_system_failure" });
    expect(said).to.include("the engine does not answer");
    expect(said).not.to.include("Saving cache");
  });
});

describe("times of a job of the own agent", () => {
  needsProgram("bash");

  it("are those of RUNNER_SCRIPT_TIMEOUT, after which after_script is run", async () => {
    const { run } = await givenJobs();
    const { end, said } = await run({
      variables: { ...none, RUNNER_SCRIPT_TIMEOUT: "1s" },
      script: ["sleep 300"],
      afterScript: ["echo after $CI_JOB_STATUS"],
    });
    expect(end).to.deep.equal({ state: "failed", reason: "job_execution_timeout" });
    expect(said)
      .to.include("The script took longer than 1 seconds")
      .and.match(/^after failed$/m);
  });

  it("are those of RUNNER_AFTER_SCRIPT_TIMEOUT", async () => {
    const { run } = await givenJobs();
    const { end, said } = await run({
      variables: { ...none, RUNNER_AFTER_SCRIPT_TIMEOUT: "1s" },
      script: ["true"],
      afterScript: ["sleep 300"],
    });
    expect(end).to.deep.equal({ state: "success" });
    expect(said).to.include("after_script failed");
  });
});

describe("settings of a job of the own agent", () => {
  needsProgram("bash");

  it("make it fail with its after_script", async () => {
    const { run } = await givenJobs();
    const afterScript = ["exit 7"];
    const script = ["true"];
    expect((await run({ variables: none, script, afterScript })).end).to.deep.equal({
      state: "success",
    });
    const variables = { ...none, AFTER_SCRIPT_IGNORE_ERRORS: "false" };
    const { end } = await run({ variables, script, afterScript });
    expect(end).to.deep.equal({ state: "failed", reason: "script_failure", exitCode: 7 });
  });

  it("print what the shell runs, without what is masked", async () => {
    const { run } = await givenJobs();
    const variables = { ...none, CI_DEBUG_TRACE: "true" };
    const { said } = await run({ variables, script: ["NAME=a", "echo is $NAME"] });
    expect(said).to.include("\n+ echo is a\n");
  });

  it("place the project below CI_BUILDS_DIR, and nowhere else", async () => {
    const { run } = await givenJobs();
    const clone = "$CI_BUILDS_DIR/go/src/search";
    const script = ["cat a.txt", "echo in $CI_PROJECT_DIR of $PWD", "ls -d ~ $CI_PROJECT_DIR.tmp"];
    const { end, said, project } = await run({ variables: { GIT_CLONE_PATH: clone }, script });
    expect(end, said).to.deep.equal({ state: "success" });
    expect(project).to.match(/\/builds\/go\/src\/search$/);
    expect(said).to.include(`\nin ${project} of ${project}\n`);
    const below = "$CI_BUILDS_DIR";
    for (const path of [
      "/tmp/x",
      below,
      `${below}/../x`,
      `${below}/a/../../x`,
      "a",
      "/builds.other/x",
    ]) {
      const refused = await run({ variables: { GIT_CLONE_PATH: path }, script });
      const reason = "runner_configuration_error";
      expect(refused.end, path).to.deep.equal({ state: "failed", reason });
      expect(refused.said).to.match(/GIT_CLONE_PATH: \S+ is not below \/\S+ \(CI_BUILDS_DIR\)/);
    }
    const moved = { CI_BUILDS_DIR: "/tmp", GIT_CLONE_PATH: "/tmp/x" };
    expect((await run({ variables: moved, script })).end).to.include({ state: "failed" });
  });
});

describe("submodules of a job of the own agent", () => {
  needsProgram("bash");

  async function given() {
    const jobs = await givenJobs();
    const { parent, repository } = jobs;
    const allowed = ["-c", "protocol.file.allow=always"];
    for (const name of ["one", "two"]) {
      const library = await workingCopy(parent, name);
      for (const text of ["1", "2", "3"]) await commit(library, text, { "b.txt": `${text}\n` });
      const url = `file://${library}`;
      await git(repository, ...allowed, "submodule", "--quiet", "add", url, name);
    }
    await commit(repository, "Libraries", {});
    const count = "git -C one rev-list --count HEAD";
    const run = async (variables: Readonly<Record<string, string>>) => {
      const { end, said, project } = await jobs.run({
        variables: { GIT_SUBMODULE_STRATEGY: "normal", GIT_ALLOW_PROTOCOL: "file", ...variables },
        script: [`echo $(${count}) commits`],
      });
      expect(end, said).to.deep.equal({ state: "success" });
      return { said, two: await readdir(path.join(project, "two")) };
    };
    return { run };
  }

  it("have the commits of GIT_SUBMODULE_DEPTH, and only the paths of GIT_SUBMODULE_PATHS", async () => {
    const { run } = await given();
    const whole = await run({});
    expect(whole.said).to.match(/^3 commits$/m);
    expect(whole.two).to.include("b.txt");
    const less = await run({ GIT_SUBMODULE_DEPTH: "2", GIT_SUBMODULE_PATHS: "one" });
    expect(less.said).to.match(/^2 commits$/m);
    expect(less.two).to.deep.equal([]);
  });

  it("are updated with GIT_SUBMODULE_UPDATE_FLAGS", async () => {
    const { run } = await given();
    const { said } = await run({ GIT_SUBMODULE_UPDATE_FLAGS: "--depth 1 --jobs 2" });
    expect(said).to.match(/^1 commits$/m);
  });
});

describe("GIT_SUBMODULE_FORCE_HTTPS", () => {
  it("fetches submodules of the service, named by SSH, by HTTP", async () => {
    const job = Job.parse({
      ...{ id: 1, token: "t", runner_info: {}, job_info: { name: "test", project_id: 1 } },
      git_info: { repo_url: "http://u:p@forge.example:8080/project/anna/search.git", sha },
    });
    const given = { GIT_SUBMODULE_FORCE_HTTPS: "true", CI_PROJECT_PATH: "anna/search" };
    const values = new Map(Object.entries(given));
    const found = sourcesOf(job, { values }, { onMachine: false });
    const env = { ...process.env, ...Object.fromEntries(found?.variables ?? []) };
    const at = await temporaryDirectory();
    for (const named of ["git@forge.example:", "ssh://git@forge.example/"]) {
      const args = ["ls-remote", "--get-url", `${named}anna/library.git`];
      const { stdout } = await promisify(execFile)("git", args, { cwd: at, env });
      expect(stdout).to.equal("http://forge.example:8080/project/anna/library.git\n");
    }
  });
});
