import { spawnSync } from "node:child_process";
import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";

import { startEventStoreServer } from "../../../src/embedded/event-store/server.ts";
import { keepPrivate, socketPlace } from "../../../src/embedded/private-directory.ts";
import { openEventStore } from "../../../src/platform/event-store/eventstoredb.ts";
import { type Service, startService } from "../../support/app/service.ts";
import { processes } from "../../support/process/process.ts";
import { testDatabase } from "../../support/store/database.ts";
import { collect, newEvent, newStream } from "../../support/store/test-event.ts";

/** Other users of the machine reach no socket, port, file or secret of the service but HTTP and SSH. */

const nobody = { uid: 65_534, gid: 65_534 };
const isRoot = process.getuid?.() === 0;
const isLinux = process.platform === "linux";

describe("security class S5: another user of the machine", () => {
  let parent = "";
  let dataDir = "";
  let service: Service;

  before(async () => {
    parent = await mkdtemp(path.join(tmpdir(), "ledgerforge-s5-"));
    await chmod(parent, 0o755);
    dataDir = path.join(parent, "data");
    // As an earlier version, or an operator, may have made it.
    await mkdir(path.join(dataDir, "repositories"), { recursive: true, mode: 0o755 });
    await chmod(dataDir, 0o755);
    service = await startService(dataDir);
  });
  after(async () => {
    await service?.stop();
    await rm(parent, { recursive: true, force: true });
  });

  it("is kept out of a data directory that was open before, and the operator is warned", async () => {
    expect(service.output()).to.contain(`${dataDir} was open to other users`);
    expect((await lstat(dataDir)).mode & 0o067).to.equal(0);
    expect((await lstat(path.join(dataDir, "repositories"))).mode & 0o777).to.equal(0o700);
  });

  it("has no rights on any file or directory that the service makes", async () => {
    const open: string[] = [];
    for (const name of await readdir(dataDir, { recursive: true })) {
      const entry = await lstat(path.join(dataDir, name)).catch(() => undefined);
      if (entry === undefined || entry.isSymbolicLink()) continue;
      if ((entry.mode & 0o077) !== 0) open.push(`${(entry.mode & 0o777).toString(8)} ${name}`);
    }
    expect(open).to.deep.equal([]);
  });

  if (isLinux) {
    it("finds no port of the service but those of HTTP and SSH", async () => {
      const inodes = await listeningInodes();
      const names: string[] = [];
      for (const { pid, command } of await ofService()) {
        const ports = (await socketsOf(pid)).flatMap((inode) => inodes.get(inode) ?? []);
        if (ports.length > 0) names.push(command.split(" ").at(-1) ?? "");
      }
      expect(names.sort()).to.deep.equal(["http", "ssh"]);
    });

    it("reads no secret from a command line", async () => {
      const lines = (await ofService()).map(({ command }) => command).join("\n");
      expect(lines).to.contain("event-store");
      for (const name of ["secret-key", "pg-password"]) {
        const secret = (await readFile(path.join(dataDir, name), "utf8")).trim();
        expect(secret).to.have.length.above(20);
        expect(lines).not.to.contain(secret);
      }
    });
  }

  if (isRoot) {
    it("cannot append to the event store, connect to the database or list the directory", async () => {
      const store = await eventStoreSocket();
      for (const socket of [store, path.join(dataDir, "run", ".s.PGSQL.5432")]) {
        expect(connectAs(nobody, socket)).to.match(/^EACCES/);
        expect(connectAs({ uid: 0, gid: 0 }, socket)).to.equal("connected");
      }
      const listing = spawnSync("ls", [dataDir], { ...nobody, encoding: "utf8" });
      expect(listing.status).not.to.equal(0);
    });
  }

  async function eventStoreSocket(): Promise<string> {
    const text = await readFile(path.join(dataDir, "run", "service.json"), "utf8");
    const { eventStoreUrl } = JSON.parse(text) as { eventStoreUrl: string };
    expect(eventStoreUrl).to.match(/^esdb\+unix:/);
    return decodeURIComponent(new URL(eventStoreUrl).pathname);
  }

  async function ofService() {
    const all = await processes();
    const family = new Set([service.child.pid ?? 0]);
    for (let before = 0; before !== family.size; ) {
      before = family.size;
      for (const { pid, parent: by } of all) if (family.has(by)) family.add(pid);
    }
    return all.filter(({ pid }) => family.has(pid));
  }
});

describe("security class S5: the place of a socket", () => {
  it("is a directory for its owner alone, also where the path is too long for one", async () => {
    const parent = await mkdtemp(path.join(tmpdir(), "ledgerforge-s5-"));
    const deep = path.join(parent, "d".repeat(100));
    const { file, remove } = await socketPlace(deep, "es.sock");
    expect(Buffer.byteLength(file)).to.be.below(104);
    expect((await lstat(path.dirname(file))).mode & 0o777).to.equal(0o700);
    await remove();
    await expect(lstat(path.dirname(file))).to.be.rejectedWith("ENOENT");
    const near = await socketPlace(parent, "es.sock");
    expect(near.file).to.equal(path.join(parent, "es.sock"));
    await rm(parent, { recursive: true });
  });

  it("serves the event store, and again after a server that left its socket behind", async () => {
    const { url: databaseUrl } = await testDatabase();
    const parent = await mkdtemp(path.join(tmpdir(), "ledgerforge s5 #"));
    const socket = path.join(parent, "es.sock");
    await mkdir(socket).then(() => rm(socket, { recursive: true }));
    spawnSync(process.execPath, ["-e", leaveSocket, socket]);
    expect((await lstat(socket)).isSocket()).to.equal(true);
    const server = await startEventStoreServer({ databaseUrl, socket });
    const store = openEventStore(server.url);
    const stream = newStream();
    await store.append(stream, "none", [newEvent(7)]);
    const read = await collect(store.readStream(stream));
    expect(read.map(({ data }) => data["n"])).to.deep.equal([7]);
    expect((await lstat(socket)).mode & 0o077).to.equal(0);
    await store.close();
    await server.close();
    await rm(parent, { recursive: true });
  });
});

describe("security class S5: a data directory", () => {
  it("that is private is left as it is, without a word", async () => {
    const parent = await mkdtemp(path.join(tmpdir(), "ledgerforge-s5-"));
    const dataDir = path.join(parent, "new");
    expect(await keepPrivate(dataDir)).to.deep.equal([]);
    expect((await lstat(dataDir)).mode & 0o777).to.equal(0o700);
    // PostgreSQL runs as another user, whose group may pass through.
    await chmod(dataDir, 0o710);
    expect(await keepPrivate(dataDir)).to.deep.equal([]);
    expect((await lstat(dataDir)).mode & 0o777).to.equal(0o710);
    await rm(parent, { recursive: true });
  });
});

/** A process that ends without taking its socket away. */
const leaveSocket = `
  require("node:net").createServer().listen(process.argv[1], () => process.kill(process.pid, "SIGKILL"));
`;

const connectTo = `
  const socket = require("node:net").connect(process.argv[1]);
  socket.on("connect", () => { process.stdout.write("connected"); process.exit(); });
  socket.on("error", ({ code }) => process.stdout.write(code));
`;

function connectAs(user: Readonly<{ uid: number; gid: number }>, socket: string): string {
  const { stdout } = spawnSync(process.execPath, ["-e", connectTo, socket], {
    ...user,
    cwd: "/",
    encoding: "utf8",
  });
  return stdout;
}

/** Inode of every listening TCP socket → its port; proc(5), /proc/net/tcp. */
async function listeningInodes(): Promise<ReadonlyMap<string, number>> {
  const inodes = new Map<string, number>();
  for (const file of ["/proc/net/tcp", "/proc/net/tcp6"]) {
    const text = await readFile(file, "utf8").catch(() => "");
    for (const line of text.split("\n").slice(1)) {
      const words = line.trim().split(/\s+/);
      const [, local = "", , state, , , , , , inode = ""] = words;
      if (state === "0A") inodes.set(inode, Number.parseInt(local.split(":")[1] ?? "", 16));
    }
  }
  return inodes;
}

async function socketsOf(pid: number): Promise<readonly string[]> {
  const directory = `/proc/${pid}/fd`;
  const names = await readdir(directory).catch(() => []);
  const targets = await Promise.all(
    names.map((name) => readlink(path.join(directory, name)).catch(() => "")),
  );
  return targets.flatMap((target) => /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? []);
}
