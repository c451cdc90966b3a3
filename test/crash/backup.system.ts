import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";

import { secretKeyFile } from "../../src/embedded/service-file.ts";
import { eventually } from "../support/app/eventually.ts";
import { runProgram, type Service, startService } from "../support/app/service.ts";
import { git } from "../support/git/git.ts";
import {
  type CreatedProject,
  type PushedBranch,
  startProjectWriter,
  startPusher,
  type Writer,
} from "../support/git/writers.ts";

const adminPassword = "a password for the crash test";
const limitMs = 180_000;

describe("a backup of a service that is written to, and killed afterwards", function () {
  this.timeout(600_000);

  let root: string;
  let service: Service;
  let token: string;
  let writers: readonly Writer<unknown>[] = [];
  let projects: readonly CreatedProject[] = [];
  let branches: readonly PushedBranch[] = [];

  before(async () => {
    root = await mkdtemp(path.join(tmpdir(), "lf-backup-"));
    service = await startService(path.join(root, "data"), { ADMIN_PASSWORD: adminPassword });
    token = await createToken();
    const client = { url: service.url, token };
    const creator = startProjectWriter(client, "pushed");
    writers = [creator];
    const isWriting = eventually(() => creator.acknowledged.length > 0, limitMs);
    await Promise.race([isWriting, creator.failed]);
    const work = path.join(root, "work");
    await mkdir(work);
    await git(work, "init", "--quiet");
    const remote = `${service.url.replace("//", `//admin:${token}@`)}/project/admin/pushed-1.git`;
    const pusher = startPusher(work, remote);
    writers = [creator, pusher];
    await eventually(() => pusher.acknowledged.length >= 3, limitMs);

    projects = [...creator.acknowledged];
    branches = [...pusher.acknowledged];
    const secretKey = (await readFile(secretKeyFile(service.dataDir), "utf8")).trim();
    await ran(["backup", path.join(root, "backup")], { DATA_DIR: service.dataDir });
    // All of that was written while the backup was made, or after it.
    await eventually(() => creator.acknowledged.length > projects.length + 3, limitMs);
    const names = ["supervisor", "postgres", "event-store"];
    const pids = await Promise.all(names.map((name) => service.pidOf(name)));
    for (const pid of pids) process.kill(pid, "SIGKILL");
    for (const writer of writers) writer.abandon();
    await service.exited;

    const restored = path.join(root, "restored");
    const order = { DATA_DIR: restored, SECRET_KEY: secretKey };
    await ran(["restore", path.join(root, "backup")], order);
    service = await startService(restored, { ADMIN_PASSWORD: adminPassword });
  });
  after(async () => {
    for (const writer of writers) writer.abandon();
    await service.stop();
    await rm(root, { recursive: true, force: true });
  });

  it("has everything that was acknowledged before it began", async () => {
    for (const { alias, id } of projects) {
      expect(await get(`/project/admin/${alias}`)).to.include({ id, alias });
    }
    for (const { branch, commit } of branches) {
      const found = await get(`/project/admin/pushed-1/branch?branchName=${branch}`);
      expect(found).to.have.nested.property("lastCommit.hash", commit);
    }
  });

  it("is whole: doctor finds nothing", async () => {
    const { dataDir: DATA_DIR } = service;
    await ran(["doctor", "--read-models"], { DATA_DIR });
    await ran(["audit", "verify"], { DATA_DIR });
  });

  async function ran(args: readonly string[], environment: Record<string, string>) {
    const program = runProgram(args, { LOG_LEVEL: "silent", ...environment });
    const [code] = await program.exited;
    expect(code, program.output()).to.equal(0);
  }

  async function createToken(): Promise<string> {
    const basic = Buffer.from(`admin:${adminPassword}`).toString("base64");
    const response = await fetch(`${service.url}/user/settings/access-token/create`, {
      method: "POST",
      headers: { authorization: `Basic ${basic}`, "content-type": "application/json" },
      body: JSON.stringify({
        name: "crash test",
        scopes: ["PROJECT_READ", "PROJECT_WRITE", "PROJECT_EDIT"],
      }),
    });
    const answer = await response.text();
    expect(response.status, answer).to.equal(200);
    return (JSON.parse(answer) as { token: string }).token;
  }

  async function get(at: string): Promise<unknown> {
    const headers = { authorization: `token ${token}` };
    return (await fetch(service.url + at, { headers })).json();
  }
});
