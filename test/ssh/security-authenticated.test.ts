import { once } from "node:events";
import { expect } from "chai";
import pino from "pino";
import ssh2, { type Client, type ClientChannel, type ServerChannel } from "ssh2";

import { type ChannelStream, openChannelStream } from "../../src/ssh/channel-stream.ts";
import {
  type AuthenticatedConnection,
  type ConnectionSettings,
  startSshServer,
} from "../../src/ssh/server.ts";
import { eventually } from "../support/app/eventually.ts";

const hostKey = ssh2.utils.generateKeyPairSync("ed25519").private;
const channelLimits = { idleMs: 60_000, totalMs: 60_000 };

/** A server that lets everybody in under the name they give, and never ends a command. */
async function serverWith(limits: Partial<ConnectionSettings> = {}) {
  const commands: {
    stream: ChannelStream;
    authenticated: AuthenticatedConnection;
    end: () => void;
  }[] = [];
  const by = (name: string) => ({
    ...{ user_id: name, alias: name, is_admin: false },
    ...{ key_id: "", public_key: "", fingerprint: "" },
  });
  const options = {
    ...{ host: "127.0.0.1", port: 0, hostKeys: [hostKey], log: pino({ level: "silent" }), limits },
    authenticate: async ({ username }: { username: string }) => ({
      kind: "authenticated" as const,
      by: by(username),
    }),
  };
  const server = await startSshServer(options, (authenticated) => (session, done) => {
    session.on("exec", (accept) => {
      const stream = openChannelStream(accept() as ServerChannel, authenticated, channelLimits);
      if (stream !== undefined) commands.push({ stream, authenticated, end: done });
    });
  });
  after(server.close);
  return { port: server.port, commands };
}

/** Private members of the library's client. */
type Internals = Readonly<{
  _sock: { pause: () => void; resume: () => void };
  _protocol: { rekey: () => void };
}>;
const internalsOf = (client: Client) => client as unknown as Internals;

/** A connection, once it is authenticated. */
async function connect(port: number, username = "anna") {
  const client = new ssh2.Client();
  client.on("error", () => undefined);
  client.connect({ host: "127.0.0.1", port, username, authHandler: ["none"] });
  await once(client, "ready");
  after(() => client.end());
  return client;
}

/** Ends also where the connection was reset. */
const closing = (client: Client) => new Promise<void>((resolve) => client.once("close", resolve));

/** A command; undefined when the server refuses the channel or closes the connection. */
const exec = (client: Client) =>
  new Promise<ClientChannel | undefined>((resolve) => {
    client.once("close", () => resolve(undefined));
    client.exec("wait", (error, channel) => resolve(error === undefined ? channel : undefined));
  });

describe("security family 24: an authenticated client of SSH", () => {
  it("is cut when it sends more than the window of its channel", async () => {
    const { port } = await serverWith();
    const client = await connect(port);
    const channel = await exec(client);
    expect(channel).not.to.equal(undefined);
    // The library keeps to the window that the server opens.
    (channel as unknown as { outgoing: { window: number } }).outgoing.window = Infinity;
    const closed = closing(client);
    // At exactly no window the library drops what comes; below it does not.
    for (let sent = 0; sent < 32; sent += 1) channel?.write(Buffer.alloc(1_000_000));
    await closed;
  });

  it("has a share of the connections", async () => {
    const { port } = await serverWith({ connectionsMaxPerUser: 2 });
    const [first, , third] = [await connect(port), await connect(port), await connect(port)];
    expect(await exec(third)).to.equal(undefined);
    expect(await exec(await connect(port, "ben"))).not.to.equal(undefined);
    first.end();
    await eventually(async () => (await exec(await connect(port))) !== undefined);
  });

  it("has no more commands at work by closing their channels", async () => {
    const { port, commands } = await serverWith({ sessionsMax: 2 });
    const client = await connect(port);
    for (const channel of [await exec(client), await exec(client)]) {
      expect(channel).not.to.equal(undefined);
      channel?.close();
    }
    await eventually(() => commands.every(({ stream }) => stream.disconnected.aborted));
    expect(await exec(client)).to.equal(undefined);
    for (const { end } of commands) end();
    expect(await exec(client)).not.to.equal(undefined);
  });

  it("holds nothing of an answer in memory by an exchange of keys that it does not end", async () => {
    const { port, commands } = await serverWith();
    const client = await connect(port);
    (await exec(client))?.resume();
    const [{ stream, authenticated }] = commands as [(typeof commands)[0]];
    const { _sock: line, _protocol: protocol } = internalsOf(client);
    line.pause();
    protocol.rekey();
    const served = authenticated.connection as unknown as { _protocol: { _kexinit?: unknown } };
    await eventually(() => served._protocol._kexinit !== undefined);
    let written = false;
    stream.output.write(Buffer.alloc(64 * 1024), () => {
      written = true;
    });
    await new Promise((next) => setTimeout(next, 100));
    expect(written).to.equal(false);
    line.resume();
    await eventually(() => written);
  });

  it("is cut when it exchanges keys without end", async () => {
    const { port } = await serverWith();
    const client = await connect(port);
    let [exchanges, isClosed] = [0, false];
    const closed = closing(client).then(() => {
      isClosed = true;
    });
    const { _protocol: protocol } = internalsOf(client);
    while (!isClosed && exchanges < 200) {
      const exchanged = new Promise((resolve) => client.once("handshake", resolve));
      protocol.rekey();
      await Promise.race([exchanged, closed]);
      exchanges += 1;
    }
    expect(exchanges).to.be.within(10, 40);
  });
});
