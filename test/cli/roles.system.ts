import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";

import { openVault } from "../../src/platform/key/vault.ts";
import { eventually } from "../support/app/eventually.ts";
import { type Program, runProgram } from "../support/app/service.ts";
import { freePort } from "../support/process/free-port.ts";
import { type TestDatabase, testDatabase } from "../support/store/database.ts";
import { testEventStore } from "../support/store/event-store.ts";

const readyMs = 120_000;

describe("ledgerforge start with names of roles", function () {
  this.timeout(600_000);

  let dataDir: string;
  let environment: Record<string, string>;
  let programs: Program[] = [];
  let emptyDatabaseUrl = "";
  let keyed: TestDatabase;
  before(async () => {
    const { url: databaseUrl } = await testDatabase();
    ({ url: emptyDatabaseUrl } = await testDatabase());
    keyed = await testDatabase();
    const { url: eventStoreUrl } = await testEventStore();
    dataDir = await mkdtemp(path.join(tmpdir(), "lf-roles-"));
    environment = {
      DATA_DIR: dataDir,
      DATABASE_URL: databaseUrl,
      EVENTSTORE_URL: eventStoreUrl,
      SECRET_KEY: "the secret key of the roles' test",
      ADMIN_PASSWORD: "password of the roles' test",
    };
  });
  afterEach(async () => {
    for (const { child, exited } of programs) {
      child.kill("SIGTERM");
      await exited;
    }
    programs = [];
  });
  after(() => rm(dataDir, { recursive: true, force: true }));

  async function start(...roles: readonly string[]): Promise<Program & { url: string }> {
    const port = String(await freePort());
    const program = runProgram(["start", ...roles], { ...environment, PORT: port });
    programs.push(program);
    return { ...program, url: `http://127.0.0.1:${port}` };
  }

  const isReady = async (url: string) =>
    (await fetch(`${url}/health/ready`).catch(() => undefined))?.ok === true;

  it("runs them in one process on stores given by their addresses, and none of our own", async () => {
    const { child, url, output, exited } = await start("http", "projections", "workers");
    await eventually(() => isReady(url), readyMs);
    // Not the password from the environment: it was not made up here.
    await eventually(() => output().includes("A first push:"), readyMs);
    expect(output()).to.not.include("password of");

    child.kill("SIGTERM");
    expect(await exited).to.deep.equal([0, null]);
  });

  it("runs them apart, several of a kind, whatever comes first", async () => {
    const first = await start("http");
    const second = await start("http");
    await start("workers");
    await eventually(() => first.output().includes("A first push:"), readyMs);
    await start("projections");
    await start("projections");
    const ssh = await start("ssh");
    await eventually(() => ssh.output().includes("answering SSH"), readyMs);

    await eventually(() => isReady(first.url), readyMs);
    await eventually(() => isReady(second.url), readyMs);
  });

  for (const [what, signal] of [
    ["refuses connections", "SIGTERM"],
    ["does not answer", "SIGINT"],
  ] as const) {
    it(`says that it waits for a store that ${what}, and ends at ${signal}`, async () => {
      const silent = createServer(() => undefined).listen(0, "127.0.0.1");
      await once(silent, "listening");
      const { port } = silent.address() as AddressInfo;
      if (what === "refuses connections") silent.close();
      const { child, output, exited } = runProgram(["start", "workers"], {
        ...environment,
        DATABASE_URL: emptyDatabaseUrl,
        EVENTSTORE_URL: `esdb://127.0.0.1:${port}?tls=false`,
      });
      await eventually(() => output().includes('"msg":"waiting for the event store"'), readyMs);
      child.kill(signal);
      expect(await exited).to.deep.equal([0, null]);
      expect(output()).to.include('"msg":"closed"').and.not.include('"msg":"ready"');
      silent.close();
    });
  }

  it("waits for a store that cannot be reached in the role http as well", async () => {
    const { url: DATABASE_URL, db } = keyed;
    await openVault(db, environment["SECRET_KEY"]!).seal("user-1", "text");
    const EVENTSTORE_URL = `esdb://127.0.0.1:${await freePort()}?tls=false`;
    const unreachable = { ...environment, DATABASE_URL, EVENTSTORE_URL };
    const { child, output, exited } = runProgram(["start", "http"], unreachable);
    const ended = exited.then((end) => expect.fail(`ended with ${end}: ${output()}`));
    ended.catch(() => undefined);
    const waits = () => output().includes('"msg":"waiting for the event store"');
    await Promise.race([eventually(waits, readyMs), ended]);
    child.kill("SIGTERM");
    expect(await exited).to.deep.equal([0, null]);
  });

  it("refuses every role and command under another SECRET_KEY, in one line", async () => {
    const { url, child, exited } = await start("http", "projections");
    await eventually(() => isReady(url), readyMs);
    child.kill("SIGTERM");
    await exited;
    const other = { ...environment, SECRET_KEY: "another key than the stores were made with" };
    const roles = ["http", "projections", "workers", "ssh"].map((name) => ["start", name]);
    for (const args of [...roles, ["audit", "verify"], ["admin", "reset-password", "admin"]]) {
      const program = runProgram(args, { ...other, PORT: String(await freePort()) });
      programs.push(program);
      await eventually(() => program.output().includes("SECRET_KEY is not the one"), 30_000);
      expect((await program.exited)[0], args.join(" ")).to.equal(78);
      const lines = program.output().trim().split("\n");
      expect(lines.filter((line) => !line.startsWith("{"))).to.have.length(1);
    }
    const program = runProgram(["events", "export", "--sealed"], other);
    expect((await program.exited)[0]).to.equal(0);
    expect(program.output()).to.include('"type":"UserRegistered"');
  });

  it("says which store cannot be reached, and ends", async () => {
    const nowhere = { DATABASE_URL: `postgres://nobody@127.0.0.1:${await freePort()}/none` };
    const program = runProgram(["start", "projections"], { ...environment, ...nowhere });
    const [code] = await program.exited;
    expect(code).to.equal(1);
    expect(program.output()).to.include("ECONNREFUSED");
  });
});
