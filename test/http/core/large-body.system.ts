import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { PassThrough } from "node:stream";
import { expect } from "chai";
import type { Context } from "koa";

import { largeBodies } from "../../../src/http/core/serve.ts";
import { spooledBody } from "../../../src/http/core/stream.ts";
import { Limit } from "../../../src/platform/limit.ts";
import { spooled } from "../../../src/platform/spooled.ts";
import { startTestApp } from "../../support/app/app.ts";
import { eventually } from "../../support/app/eventually.ts";
import { givenPeople, type People, refWorlds } from "../../support/git/ref-world.ts";

const app = await startTestApp();
const newWorld = await refWorlds(app);
let people: People;
const opened: Socket[] = [];
before(async () => {
  people = await givenPeople(app);
});
afterEach(() => {
  for (const socket of opened.splice(0)) socket.destroy();
});

type Sent = Readonly<{ path: string; token: string; body: string; bytes: number }>;

/** A request whose body comes as far as it is given. */
async function send({ path, token, body, bytes }: Sent): Promise<Socket> {
  const { hostname, port } = new URL(app.url);
  const socket = connect(Number(port), hostname).on("error", () => undefined);
  opened.push(socket);
  await once(socket, "connect");
  const head = [
    ...[`POST ${path} HTTP/1.1`, "Host: x", `Authorization: Bearer ${token}`],
    ...["Content-Type: application/json", `Content-Length: ${bytes}`, "", ""],
  ];
  socket.write(head.join("\r\n") + body);
  return socket;
}

const content = "x".repeat(1_200_000);
const commitOf = (path: string) => ({
  ...{ branch: "main", message: "Large" },
  actions: [{ action: "CREATE", path, content }],
});

describe("large bodies", () => {
  it("hold up no other caller while they come slowly", async () => {
    const world = await newWorld(people);
    const unfinished = { body: '{"branch":', bytes: 2_000_000 };
    for (const alias of ["slow1", "slow2", "slow3", "slow4"]) {
      const user = await app.givenUser(alias);
      await app.givenProject(user, "own");
      const sent = { path: `/project/${alias}/own/commit`, token: user.token, ...unfinished };
      await Promise.all([send(sent), send(sent)]);
    }
    const own = { path: world.at("/commit"), token: people.bob.token, ...unfinished };
    await Promise.all([send(own), send(own)]);
    const begun = performance.now();
    const answer = await world.post(people.bob, "/commit", commitOf("large.txt"));
    expect(answer.status, answer.text).to.equal(200);
    expect(performance.now() - begun).to.be.below(10_000);
  });

  it("keep no turn when their client has gone", async () => {
    const world = await newWorld(people);
    const { id, token } = people.bob;
    const held = ["a", "b", "c", "d"].flatMap((caller) => [
      largeBodies.take(1, { caller }),
      largeBodies.take(1, { caller }),
    ]);
    try {
      const body = JSON.stringify(commitOf("gone.txt"));
      const sent = { path: world.at("/commit"), token, body, bytes: body.length };
      const sockets = await Promise.all([send(sent), send(sent), send(sent)]);
      await eventually(() => largeBodies.waiting(id) === 3);
      for (const socket of sockets) socket.destroy();
      await eventually(() => largeBodies.waiting(id) === 0);
    } finally {
      for (const { leave } of held) leave();
    }
    const listed = await world.post(people.bob, "/commit", commitOf("gone.txt"));
    expect(listed.status, listed.text).to.equal(200);
  });

  it("are refused when less comes than a line that works brings", async () => {
    const server = createServer((socket) => opened.push(socket));
    await once(server.listen(0, "127.0.0.1"), "listening");
    const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
    opened.push(client);
    const req = Object.assign(new PassThrough(), { socket: client, complete: false, headers: {} });
    const ctx = { req, get: () => "" } as unknown as Context;
    const slow = { bytesMin: 100, withinMs: 20 };
    const reading = spooledBody(ctx, { bytesMax: 1_000, timeoutMs: 60_000, slow });
    await expect(reading).to.be.rejectedWith("took too long");
    server.close();
  });
});

describe("bytes that are spooled", () => {
  const limitOf = (share: number) =>
    new Limit({ name: "test", total: 100, share, whenFull: "refuse" });

  it("are read as they came, and count until they are closed", async () => {
    const limit = limitOf(100);
    const source = new PassThrough();
    source.write("one ");
    source.end("two");
    const bytes = await spooled(source, limit.take(0));
    expect((await bytes.read()).toString()).to.equal("one two");
    expect(limit.inUse).to.equal(7);
    await bytes.close();
    expect(limit.inUse).to.equal(0);
  });

  it("are refused beyond the share of their caller, and leave nothing", async () => {
    const limit = limitOf(10);
    const source = new PassThrough();
    source.end("more than ten");
    const spooling = spooled(source, limit.take(0, { caller: "anna" }));
    await expect(spooling).to.be.rejectedWith("Too many");
    expect(limit.inUse).to.equal(0);
  });
});
