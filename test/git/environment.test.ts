import { execFile } from "node:child_process";
import { access, chmod, mkdir, mkdtemp, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";

import { gitEnvironment } from "../../src/git/environment.ts";
import { runGit } from "../../src/git/run.ts";
import { compiled } from "../support/compiled.ts";
import { commit, git, type Ran, temporaryDirectory, workingCopy } from "../support/git/git.ts";

const root = await temporaryDirectory();
let copy: string;
let gitDir: string;
let first: string;
let second: string;

before(async () => {
  copy = await workingCopy(root, "copy");
  gitDir = path.join(copy, ".git");
  first = await commit(copy, "First", { "a.txt": "one\n", "b.txt": "two\n" });
  second = await commit(copy, "Second", { "c.txt": "three\n" });
});

/** Git as a child of the service, in a directory of the caller's choice. */
function child(
  cwd: string,
  args: readonly string[],
  extra: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  return new Promise((resolve) => {
    execFile("git", args, { cwd, env: { ...gitEnvironment(extra) } }, (error, stdout, stderr) => {
      const exitCode = error === null ? 0 : Number(error.code);
      resolve({ exitCode, stdout: stdout.trimEnd(), stderr });
    });
  });
}

/** A program that leaves a trace when it is run. */
async function witness(
  named = "witness",
): Promise<Readonly<{ program: string; ran: () => Promise<boolean> }>> {
  const directory = await mkdtemp(path.join(root, "program-"));
  const [program, trace] = [path.join(directory, named), path.join(directory, "ran")];
  await writeFile(program, `#!/bin/sh\necho ran >${trace}\n`);
  await chmod(program, 0o755);
  const ran = () =>
    access(trace).then(
      () => true,
      () => false,
    );
  return { program, ran };
}

describe("the environment of git", () => {
  it("is not read: neither the machine's settings nor a user's own", async () => {
    const home = await mkdtemp(path.join(root, "home-"));
    const file = path.join(home, "elsewhere");
    await mkdir(path.join(home, "git"));
    for (const name of [file, path.join(home, ".gitconfig"), path.join(home, "git", "config")]) {
      await writeFile(name, "[alias]\n\tsay = !echo heard\n");
    }
    const from = { HOME: home, XDG_CONFIG_HOME: home, GIT_CONFIG_SYSTEM: file };

    const { stdout } = await child(copy, ["config", "--list", "--show-scope"], from);
    const scopes = stdout.split("\n").map((line) => line.split("\t", 1)[0]);
    expect(new Set(scopes)).to.deep.equal(new Set(["local", "command"]));
    expect((await child(copy, ["say"], from)).stdout).not.to.contain("heard");
  });

  it("runs nothing that the settings of a repository name", async () => {
    const { program, ran } = await witness();
    await git(copy, "config", "core.fsmonitor", program);
    await git(copy, "config", "core.hooksPath", path.dirname(program));
    const hook = path.join(path.dirname(program), "post-index-change");
    await writeFile(hook, await readFile(program));
    await chmod(hook, 0o755);

    const { exitCode } = await child(copy, ["update-index", "--refresh", "--force-write-index"]);
    expect(exitCode).to.equal(0);
    expect(await ran()).to.equal(false);
  });

  it("leaves no file out that attributes of the machine name", async () => {
    const attributes = path.join(root, "attributes");
    await writeFile(attributes, "b.txt export-ignore\n");
    await git(copy, "config", "core.attributesFile", attributes);

    const { stdout } = await runGit(gitDir, ["archive", "--format=tar", first]);
    expect(stdout.toString("latin1")).to.contain("b.txt");
  });

  it("is another program only where the system has its programs", async () => {
    const { program, ran } = await witness("git");
    const PATH = `${path.dirname(program)}:${process.env["PATH"]}`;
    const code = `import("${compiled("src/git/run.ts")}").then(({ runGit }) =>
      runGit(${JSON.stringify(gitDir)}, ["rev-parse", "--git-dir"]))`;
    await promisify(execFile)(process.execPath, ["--eval", code], { env: { PATH } });
    expect(await ran()).to.equal(false);
  });
});

describe("what git does by itself", () => {
  it("opens no other repository and no connection", async () => {
    for (const url of [
      `file://${copy}`,
      copy,
      "ext::echo",
      "http://127.0.0.1:1/",
      "git://[::1]/",
    ]) {
      const { exitCode, stderr } = await child(root, ["ls-remote", url]);
      expect(exitCode, url).to.equal(128);
      expect(stderr, url).to.match(/transport '\w+' not allowed/);
    }
  });

  it("works on the repository it was given, and on none that it happens to be in", async () => {
    const bare = path.join(root, "bare.git");
    await git(root, "init", "--quiet", "--bare", bare);

    const { exitCode, stderr } = await child(bare, ["rev-parse", "--git-dir"]);
    expect(exitCode).to.equal(128);
    expect(stderr).to.contain("cannot use bare repository");
  });

  it("takes an id for the object of that id, whatever stands in its place", async () => {
    await git(copy, "replace", "--force", first, second);

    const { stdout } = await runGit(gitDir, ["log", "-1", "--format=%s", first]);
    expect(stdout.toString().trim()).to.equal("First");
    await git(copy, "replace", "--delete", first);
  });

  it("takes a path for the name of one file, never for a pattern", async () => {
    const files = async (spec: string): Promise<string> => {
      const args = ["ls-tree", "-r", "--name-only", second, "--", spec] as const;
      const log = ["log", "--format=%s", second, "--", spec] as const;
      const [tree, history] = [await runGit(gitDir, [...args]), await runGit(gitDir, [...log])];
      return tree.stdout.toString() + history.stdout.toString();
    };
    expect(await files("c.txt")).to.equal("c.txt\nSecond\n");
    for (const spec of ["*", "?.txt", ":(glob)**", ":/", ":!a.txt", ":(icase)C.TXT"]) {
      expect(await files(spec), spec).to.equal("");
    }
  });

  it("has what it writes on the disk before it reports success", async () => {
    const trace = path.join(root, "trace");
    const env = { GIT_TRACE2_EVENT: trace };
    await runGit(gitDir, ["hash-object", "-w", "--stdin"], { input: "kept", env });
    const id = (await runGit(gitDir, ["rev-parse", second])).stdout.toString().trim();
    await runGit(gitDir, ["update-ref", "refs/heads/kept", id], { env });

    const flushes = (await readFile(trace, "utf8"))
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
      .filter(({ category, key, value }) => `${category}` === "fsync" && value !== "0" && key);
    expect(flushes).to.have.lengthOf.at.least(2);
  });
});
