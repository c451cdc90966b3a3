import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { copyFile, mkdir, readFile, rm } from "node:fs/promises";
import module from "node:module";
import path from "node:path";
import { expect } from "chai";
import { runProgram } from "../support/app/service.ts";
import { temporaryDirectory } from "../support/git/git.ts";
import { skipFor } from "../support/process/program.ts";

describe("ledgerforge", () => {
  const run = async (args: readonly string[], environment: Record<string, string> = {}) => {
    const program = runProgram(args, environment);
    const [code] = await program.exited;
    return { code, output: program.output() };
  };

  it("lists its commands for --help, and exits with 0", async () => {
    const { code, output } = await run(["--help"]);
    expect(code).to.equal(0);
    expect(output).to.include("Usage: ledgerforge <command>");
    expect(output).to.match(/^ {2}start /m);
  });

  it("says how a command is called, with its options and an example", async () => {
    for (const args of [
      ["audit", "--help"],
      ["help", "audit"],
      ["events", "import", "-h"],
    ]) {
      const { code, output } = await run(args);
      const [name] = args.filter((each) => each !== "help");
      expect(code).to.equal(0);
      expect(output).to.match(new RegExp(`^Usage: ledgerforge ${name} .*\\n`));
      expect(output).to.match(/\nOptions:\n {2}--[\s\S]*\nExample:\n {2}ledgerforge /);
    }
    expect((await run(["help", "strat"])).code).to.equal(64);
  });

  it("reports its release for --version", async () => {
    const { version } = JSON.parse(await readFile("package.json", "utf8")) as { version: string };
    expect(await run(["--version"])).to.deep.equal({ code: 0, output: `${version}\n` });
  });

  it("says what to do where it is not built", async () => {
    const folder = await temporaryDirectory();
    await mkdir(path.join(folder, "bin"));
    await copyFile("package.json", path.join(folder, "package.json"));
    await copyFile("bin/ledgerforge.js", path.join(folder, "bin/ledgerforge.js"));
    const { status, stderr } = spawnSync(process.execPath, ["bin/ledgerforge.js", "start"], {
      cwd: folder,
      encoding: "utf8",
    });
    expect(status).to.equal(78);
    expect(stderr).to.equal("ledgerforge is not built yet: run npm ci in its folder first.\n");
  });

  it("lists them as well when it does not know what was meant", async () => {
    for (const args of [[], ["strat"], ["constructor"]]) {
      const { code, output } = await run(args);
      expect(code).to.equal(64);
      expect(output).to.include("Usage:");
    }
  });

  it("names every bad variable, without a stack and without their values", async () => {
    const { code, output } = await run(["start"], { PORT: "x", SECRET_KEY: "hunter2" });
    expect(code).to.equal(78);
    expect(output).to.match(/^Bad configuration:\n {2}PORT .*\n {2}SECRET_KEY .*\n$/);
    expect(output).to.not.include("hunter2");
  });

  it("names every store that a role lacks", async () => {
    const { code, output } = await run(["start", "http"]);
    expect(code).to.equal(78);
    expect(output).to.match(/DATABASE_URL is required\n {2}EVENTSTORE_URL is required/);
  });

  it("starts an agent alone, and only one that is registered", async () => {
    const beside = await run(["start", "http", "agent"]);
    expect(beside).to.deep.equal({ code: 78, output: "The role agent is started alone.\n" });
    const { code, output } = await run(["start", "agent"], { DATA_DIR: "/nonexistent/data" });
    expect(code).to.equal(78);
    expect(output).to.match(/^There is no agent at \/nonexistent\/data\/agent\/config\.json: /);
  });

  it("refuses roles that do not exist", async () => {
    const { code, output } = await run(["start", "http", "htp"]);
    expect(code).to.equal(78);
    expect(output).to.equal(
      "No role named htp; there are http, projections, workers, ssh, agent.\n",
    );
  });
});

describe("a program that Node.js has compiled", () => {
  skipFor(
    "enableCompileCache" in module ? [] : ["this Node.js has no compile cache, which 22.8 has"],
  );

  it("is read again at its next start", async () => {
    const cache = "dist/compile-cache";
    await rm(cache, { recursive: true, force: true });
    await runProgram(["--help"], {}).exited;
    expect(existsSync(cache)).to.equal(true);
  });
});
