import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { Socket } from "node:net";
import { expect } from "chai";
import type { TestUser } from "../../../support/app/app.ts";
import { eventually } from "../../../support/app/eventually.ts";
import { connectionWorld } from "../../../support/git/connection-world.ts";
import { commit, fetchRequest, git, workingCopy } from "../../../support/git/git.ts";
import { spawnedWhile } from "../../../support/process/spawned.ts";

const { app, root, parent, given, remote, send, closed } = await connectionWorld();
let anna: TestUser;
beforeEach(() => {
  anna = given();
});

describe("what a user is doing with git", () => {
  it("is cut when they are blocked while they read a pack that is kept for many", async () => {
    const copy = await workingCopy(parent, anna.alias);
    const head = await commit(copy, "First", { "large.bin": randomBytes(24_000_000) });
    await git(copy, "push", "--quiet", remote(anna, anna.token), "main");
    const request = fetchRequest(head);
    const read = async (): Promise<Socket> => {
      const socket = await send(anna, anna.token, "upload-pack", request.length);
      socket.write(request);
      await once(socket, "readable");
      return socket;
    };
    for (let round = 0; round < 2; round += 1) {
      const socket = await read();
      let end = "";
      socket.on("data", (chunk: Buffer) => {
        end = `${end}${chunk.subarray(-5).toString("latin1")}`.slice(-5);
      });
      // To its last chunk: a pack that was not read to its end is not kept.
      await eventually(() => end === "0\r\n\r\n", 60_000);
      socket.destroy();
    }
    // It reads no more than the beginning.
    let reading = new Socket();
    const started = await spawnedWhile(async () => {
      reading = await read();
    });
    const packing = started.filter((line) => /upload-pack|pack-objects/.test(line));
    expect(packing, "programs of git").to.deep.equal([]);
    expect(
      (await app.post(`/admin/user/${anna.id}/account/ban`, { token: root.token })).status,
    ).to.equal(200);
    let bytes = 0;
    reading.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
    });
    await closed(reading);
    expect(bytes).to.be.lessThan(24_000_000);
  });
});
