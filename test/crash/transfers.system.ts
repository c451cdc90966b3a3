import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { packet } from "../../src/git/pkt-line.ts";
import { basicAuth } from "../support/app/basic-auth.ts";
import { eventually } from "../support/app/eventually.ts";
import { type Service, startService } from "../support/app/service.ts";
import { sendHalf } from "../support/client/half-sent.ts";
import { commit, git, workingCopy } from "../support/git/git.ts";
import { freePort } from "../support/process/free-port.ts";
import { processes } from "../support/process/process.ts";

/** A push and uploads to LFS, a release and a package, each half-way, when something is killed. */
const cases = ["workers", "http", "everything"] as const;
const everything = [
  "supervisor",
  "http",
  "ssh",
  "workers",
  "projections",
  "event-store",
  "postgres",
];
const adminPassword = "a password for the crash test";
const recoveryMs = 180_000;
const large = randomBytes(4 * 1024 ** 2);
const oid = createHash("sha256").update(large).digest("hex");

describe("killing the service in the middle of uploads", function () {
  this.timeout(900_000);

  let root: string;
  let service: Service;
  let port: string;
  let token: string;
  let copy: string;
  let head: string;
  let pack: Buffer;

  before(async () => {
    root = await mkdtemp(path.join(tmpdir(), "lf-crash-"));
    port = String(await freePort());
    await start();
    const scopes = ["PROJECT_READ", "PROJECT_WRITE", "READ_REGISTRY", "WRITE_REGISTRY"];
    const wanted = { name: "t", scopes };
    const made = await post("/user/settings/access-token/create", wanted, basic(adminPassword));
    token = String(made["token"]);
    copy = await workingCopy(root, "copy");
    await commit(copy, "Base", { "a.txt": "a" });
    head = await commit(copy, "Large", { "large.bin": large });
    const input = `${head}\n`;
    pack = execFileSync("git", ["pack-objects", "--revs", "--stdout", "-q"], {
      ...{ cwd: copy, input, maxBuffer: 64 * 1024 ** 2 },
    });
  });
  after(async () => {
    await service.stop();
    await rm(root, { recursive: true, force: true });
  });

  for (const victim of cases) {
    it(`leaves nothing half-stored, and the next attempts succeed: ${victim}`, async () => {
      const project = await given(victim);
      const { remote, objects, release, parcel } = project;
      const left = new Set(await underWay());
      const first = uploads(project);
      const begun = async () => (await underWay()).filter((one) => !left.has(one));
      await eventually(async () => (await begun()).length >= 4, recoveryMs);
      await killHard(victim);

      if (victim === "workers") {
        // They have no part in it: what is under way goes on.
        const answers = await Promise.all(first.map(({ finish }) => finish()));
        expect(answers).to.deep.equal([200, 200, 200, 200]);
      } else {
        for (const { breakOff } of first) breakOff();
        await eventually(async () => (await fetch(`${service.url}/health/ready`)).ok, recoveryMs);
        expect(await git(root, "ls-remote", remote, "refs/heads/main")).to.equal("");
        expect((await get(release))["attachmentFiles"]).to.equal(null);
        expect((await read(objects)).status).to.equal(404);
        expect((await read(parcel)).status).to.equal(404);
        expect(JSON.stringify(await get("/registry/package"))).not.to.contain(parcelOf(victim));
        // Started again, it tidies up what git left.
        await eventually(async () => (await quarantines()).length === 0, recoveryMs);
        const again = uploads(project).map(({ finish }) => finish());
        expect(await Promise.all(again)).to.deep.equal([200, 200, 200, 200]);
      }

      expect(await git(root, "ls-remote", remote, "refs/heads/main")).to.contain(head);
      expect(JSON.stringify((await get(release))["attachmentFiles"])).to.contain(oid);
      for (const at of [objects, parcel]) {
        const stored = Buffer.from(await (await read(at)).arrayBuffer());
        expect(stored.equals(large), at).to.equal(true);
      }
      for (const gitDir of await repositories()) {
        await git(root, `--git-dir=${gitDir}`, "fsck", "--full", "--strict");
        // Upkeep that was killed begins again when its job counts as stalled, and removes what it left.
        await eventually(async () => {
          const names = await readdir(gitDir, { recursive: true });
          expect(names.filter((name) => name.endsWith(".lock"))).to.deep.equal([]);
          return true;
        }, recoveryMs);
      }
    });
  }

  type Project = Awaited<ReturnType<typeof given>>;

  async function given(name: string) {
    const at = `/project/admin/${name}`;
    await post("/project", { title: name, alias: name });
    const remote = `${service.url.replace("//", `//admin:${token}@`)}${at}.git`;
    await git(copy, "push", "--quiet", remote, "main~1:refs/heads/base");
    const body = { title: "R", description: "d", tagName: "v1", branchName: "base" };
    const release = `${at}/release/${(await post(`${at}/release`, body))["id"]}`;
    const objects = `${at}.git/info/lfs/objects/${oid}`;
    const parcel = `/registry/package/generic/${parcelOf(name)}/1.0/a.bin`;
    return { at, remote, release, files: `${release}/file`, objects, parcel };
  }

  /** Each with half of its body sent. */
  function uploads({ at, files, objects, parcel }: Project) {
    const commands = packet(`${"0".repeat(40)} ${head} refs/heads/main\0report-status`);
    const push = { "content-type": "application/x-git-receive-pack-request" };
    const edge = "--edge\r\n";
    const named = 'Content-Disposition: form-data; name="files"; filename="a.bin"\r\n\r\n';
    const authorization = `token ${token}`;
    const form = {
      authorization,
      "content-type": "multipart/form-data; boundary=edge",
    };
    const formBody = [Buffer.from(edge + named), large, Buffer.from("\r\n--edge--\r\n")];
    return [
      send("POST", `${at}.git/git-receive-pack`, push, [commands, Buffer.from("0000"), pack]),
      send("PUT", `${objects}/${large.length}`, {}, [large]),
      send("POST", files, form, formBody),
      send("PUT", parcel, { authorization }, [large]),
    ];
  }

  function send(
    method: string,
    at: string,
    headers: Record<string, string>,
    parts: readonly Buffer[],
  ) {
    const all = { ...basic(), ...headers };
    return sendHalf({ method, url: service.url + at, headers: all }, Buffer.concat(parts));
  }

  /** What is on its way, on the disk. */
  async function underWay(): Promise<readonly string[]> {
    const spooled = await readdir(path.join(service.dataDir, "blobs/temporary")).catch(() => []);
    return [...spooled, ...(await quarantines())];
  }

  async function quarantines(): Promise<readonly string[]> {
    const found = (await repositories()).map(async (gitDir) => {
      const names = await readdir(path.join(gitDir, "objects")).catch(() => []);
      return names
        .filter((name) => name.startsWith("tmp_"))
        .map((name) => path.join(gitDir, "objects", name));
    });
    return (await Promise.all(found)).flat();
  }

  async function repositories(): Promise<readonly string[]> {
    const at = path.join(service.dataDir, "repositories");
    const names = await readdir(at, { recursive: true });
    return names
      .filter((name) => /^..\/..\/[^/]+\.git$/.test(name))
      .map((name) => path.join(at, name));
  }

  async function start(): Promise<void> {
    const environment = { PORT: port, ADMIN_PASSWORD: adminPassword };
    service = await startService(path.join(root, "data"), environment);
  }

  async function killHard(victim: string): Promise<void> {
    const names = victim === "everything" ? everything : [victim];
    const running = (name: string) => eventually(() => service.pidOf(name), recoveryMs);
    const pids = await Promise.all(names.map(running));
    for (const pid of pids) process.kill(pid, "SIGKILL");
    if (victim === "workers") return;
    // With http, as when a container ends.
    const gits = (await processes()).filter(
      ({ command }) => command.startsWith("git") && command.includes(service.dataDir),
    );
    for (const { pid } of gits) killIfThere(pid);
    if (victim !== "everything") return;
    await service.exited;
    await start();
  }

  function killIfThere(pid: number): void {
    try {
      process.kill(pid, "SIGKILL");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }

  const parcelOf = (name: string): string => `parcel-${name}`;

  /** With what git-lfs sends, or as the other operations want it. */
  const read = (at: string) => {
    const headers = at.startsWith("/registry") ? { authorization: `token ${token}` } : basic();
    return fetch(service.url + at, { headers });
  };

  const basic = (password = token) => ({
    authorization: basicAuth("admin", password),
  });

  async function post(at: string, body: unknown, headers?: Record<string, string>) {
    return answerOf(
      await fetch(service.url + at, {
        method: "POST",
        headers: {
          ...(headers ?? { authorization: `token ${token}` }),
          "content-type": "application/json",
        },
        body: JSON.stringify(body),
      }),
    );
  }

  async function get(at: string) {
    return answerOf(
      await fetch(service.url + at, { headers: { authorization: `token ${token}` } }),
    );
  }

  async function answerOf(response: Response): Promise<Record<string, unknown>> {
    const text = await response.text();
    if (!response.ok) throw new Error(`${response.url} answered ${response.status}: ${text}`);
    return JSON.parse(text) as Record<string, unknown>;
  }
});
