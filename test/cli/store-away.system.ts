import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";

import { eventually } from "../support/app/eventually.ts";
import { runProgram } from "../support/app/service.ts";
import { freePort } from "../support/process/free-port.ts";
import { testDatabase } from "../support/store/database.ts";

const { url: databaseUrl } = await testDatabase();
/** Ten seconds for the line, and what loading the program takes on a machine that does other things as well. */
const saidWithinMs = 40_000;
const waiting = /^Waiting for the event store: \S.*$/m;

describe("an event store that is away at the start", function () {
  this.timeout(300_000);

  let directory: string;
  const sockets: Socket[] = [];
  const silent = createServer((socket) => sockets.push(socket));
  let addresses: Readonly<Record<"refused" | "silent", string>>;
  before(async () => {
    directory = await mkdtemp(path.join(tmpdir(), "lf-away-"));
    silent.listen(0, "127.0.0.1");
    await eventually(() => silent.listening);
    addresses = {
      refused: `esdb://127.0.0.1:${await freePort()}?tls=false`,
      silent: `esdb://127.0.0.1:${(silent.address() as AddressInfo).port}?tls=false`,
    };
  });
  after(async () => {
    silent.close();
    for (const socket of sockets) socket.destroy();
    await rm(directory, { recursive: true, force: true });
  });
  const environment = (name: keyof typeof addresses) => ({
    DATABASE_URL: databaseUrl,
    EVENTSTORE_URL: addresses[name],
    SECRET_KEY: "a secret key of more than enough characters",
    DATA_DIR: path.join(directory, name),
    PORT: "0",
  });

  for (const name of ["refused", "silent"] as const) {
    it(`is named in one line when it is ${name}, and the start goes on waiting`, async () => {
      const { child, output, exited } = runProgram(["start"], environment(name));
      try {
        await eventually(() => waiting.test(output()), saidWithinMs);
        expect(output().match(new RegExp(waiting, "gm"))).to.have.length(1);
        expect(child.exitCode).to.equal(null);
      } finally {
        child.kill("SIGINT");
        await exited;
      }
    });

    it(`ends every other command with 1 and a line when it is ${name}`, async () => {
      const { output, exited } = runProgram(["events", "export"], environment(name));
      expect(await exited).to.deep.equal([1, null]);
      expect(output().trimEnd().split("\n"), output()).to.have.length(1);
    });
  }
});
