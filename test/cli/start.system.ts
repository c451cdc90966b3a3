import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import os, { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";

import { eventually } from "../support/app/eventually.ts";
import { processesOn, runProgram, type Service, startService } from "../support/app/service.ts";
import { clientEnvironment, git } from "../support/git/git.ts";
import { freePort } from "../support/process/free-port.ts";
import { isRunning } from "../support/process/process.ts";
import { needsProgram } from "../support/process/program.ts";

const run = promisify(execFile);
const children = ["postgres", "event-store", "http", "projections", "workers"];
const restartMs = 120_000;
/** Longer than all that is waited for while it ends: it would be ended by force. */
const stopMs = 30_000;

describe("ledgerforge start", function () {
  this.timeout(600_000);

  let dataDir: string;
  let service: Service | undefined;
  before(async () => {
    dataDir = path.join(await mkdtemp(path.join(tmpdir(), "lf-start-")), "data");
  });
  after(async () => {
    await service?.stop();
    await rm(path.dirname(dataDir), { recursive: true, force: true });
  });

  /** The one that runs; tests that share a service go on with it. */
  const running = (): Service => {
    if (service === undefined) throw new Error("no service runs");
    return service;
  };
  const start = async (): Promise<Service> => {
    service = await startService(dataDir);
    return service;
  };
  const ready = async (url: string) =>
    (await fetch(`${url}/health/ready`).catch(() => undefined))?.status === 200;

  describe("for the first time", () => {
    it("brings up everything and greets the administrator once", async () => {
      const { url, output, pidOf } = await start();
      const priorityOf = async (name: string) => os.getPriority(await pidOf(name));
      expect(await priorityOf("workers")).to.be.greaterThan(await priorityOf("projections"));
      expect(await priorityOf("http")).to.equal(await priorityOf("projections"));
      expect(await ready(url)).to.equal(true);
      expect((await createToken(url, `admin:${passwordIn(output())}`)).status).to.equal(200);
      for (const secret of ["secret-key", "pg-password"]) {
        expect((await stat(path.join(dataDir, secret))).mode & 0o777).to.equal(0o600);
      }
      // The group passes where root has to run PostgreSQL as another user (no user namespaces).
      expect((await stat(dataDir)).mode & 0o777).to.be.oneOf([0o700, 0o710]);
    });
  });

  describe("by the lines that it printed", () => {
    needsProgram("curl", "sed");

    it("takes a first push", () => pushByRecipe(running().output()));
  });

  describe("afterwards", () => {
    it("ends soon on Ctrl-C, with its password in no log", async () => {
      const { stop, output } = running();
      const stoppedAt = performance.now();
      expect(await stop("SIGINT")).to.equal(0);
      expect(performance.now() - stoppedAt).to.be.below(stopMs);
      expect(await processesOn(dataDir)).to.deep.equal([]);

      const ofWorkers = await readFile(path.join(dataDir, "log", "workers.log"), "utf8");
      expect(ofWorkers).not.to.include('"level":"error"');
      const password = passwordIn(output());
      expect(password).not.to.equal("");
      for (const file of await readdir(path.join(dataDir, "log"))) {
        expect(await readFile(path.join(dataDir, "log", file), "utf8")).to.not.include(password);
      }
    });

    it("greets without a password from the second start on, and keeps what there was", async () => {
      const { url, output } = await start();
      expect(output()).to.include("Administrator: admin").and.to.not.include("Password:");
      expect((await createToken(url, "admin:wrong password")).status).to.equal(403);
    });

    it("refuses to run twice on one data directory, and leaves the first alone", async () => {
      const second = runProgram(["start"], { DATA_DIR: dataDir, PORT: String(await freePort()) });
      expect((await second.exited)[0]).to.equal(78);
      expect(second.output()).to.include(`already runs on ${dataDir}, as process`);
      expect(await ready(running().url)).to.equal(true);
    });

    it("gives up with the reason when its port is taken, and ends what it had started", async () => {
      const other = path.join(path.dirname(dataDir), "other");
      const port = new URL(running().url).port;
      const second = runProgram(["start"], { DATA_DIR: other, PORT: port });
      expect((await second.exited)[0]).to.equal(78);
      expect(second.output()).to.contain("is in use");
      expect(await processesOn(other)).to.deep.equal([]);
    });

    it("starts each of its processes again when it dies", async () => {
      const { url, pidOf } = running();
      for (const name of children) {
        // What died with another one may be on its way back.
        const pid = await eventually(() => pidOf(name), restartMs);
        process.kill(pid, "SIGKILL");
        const again = await eventually(async () => {
          const now = await pidOf(name);
          return now === pid ? undefined : now;
        }, restartMs);
        expect(await isRunning(again!)).to.equal(true);
        await eventually(() => ready(url), restartMs);
      }
    });

    it("can be killed: the next start works at once, and ends on SIGHUP as on Ctrl-C", async () => {
      await killSupervisor();
      const { url, stop } = await start();
      expect(await ready(url)).to.equal(true);
      expect(await stop("SIGHUP")).to.equal(0);
      expect(await processesOn(dataDir)).to.deep.equal([]);
    });

    it("ends on Ctrl-C while it is still starting", async () => {
      const program = runProgram(["start"], { DATA_DIR: dataDir, PORT: String(await freePort()) });
      await eventually(() => stat(path.join(dataDir, "run", "event-store.pid")), restartMs);
      program.child.kill("SIGINT");
      expect((await program.exited)[0]).to.equal(0);
      expect(await processesOn(dataDir)).to.deep.equal([]);
    });

    it("ends on SIGTERM as on Ctrl-C", async () => {
      const { stop } = await start();
      expect(await stop("SIGTERM")).to.equal(0);
      expect(await processesOn(dataDir)).to.deep.equal([]);
    });

    it("stops everything when its supervisor is killed, without a next start", async () => {
      await start();
      await killSupervisor();
      await eventually(async () => (await processesOn(dataDir)).length === 0, restartMs);
    });
  });

  /** Runs the lines that were printed, as a newcomer would paste them. */
  async function pushByRecipe(greeting: string): Promise<void> {
    const [, recipe = ""] = greeting.split("A first push:\n");
    const lines = recipe.trim().split("\n").slice(0, 3);
    const work = path.join(path.dirname(dataDir), "work");
    await mkdir(work);
    await git(work, "init", "--quiet");
    await git(work, "commit", "--quiet", "--allow-empty", "--message", "First");
    await run("/bin/sh", ["-ec", lines.join("\n")], { cwd: work, env: clientEnvironment(work) });
    const [, target = ""] = /git push "([^"]+)"/.exec(recipe) ?? [];
    expect(target).to.include("/project/admin/hello.git");
    const pushed = await git(work, "rev-parse", "HEAD");
    const remote = target.replace(/\/\/.*@/, "//");
    expect(await git(work, "ls-remote", remote, "refs/heads/main")).to.include(pushed);
  }

  async function killSupervisor(): Promise<void> {
    const { child, exited } = running();
    child.kill("SIGKILL");
    await exited;
  }
});

const passwordIn = (greeting: string): string => /Password: +(\S+)/.exec(greeting)?.[1] ?? "";

function createToken(url: string, login: string): Promise<Response> {
  return fetch(`${url}/user/settings/access-token/create`, {
    method: "POST",
    headers: {
      authorization: `Basic ${Buffer.from(login).toString("base64")}`,
      "content-type": "application/json",
    },
    body: JSON.stringify({ name: `token ${Date.now()}`, scopes: ["USER_READ"] }),
  });
}
