import { createServer, type Socket } from "node:net";
import type { Logger } from "pino";
import ssh2, { type AuthContext, type Connection, type Session } from "ssh2";

import { bindOperation, isSuspended } from "../platform/event-loop/operation.ts";
import { Limit } from "../platform/limit.ts";
import { networkOf } from "../platform/network.ts";
import type { SshLoginRow } from "../projections/user/ssh-key.ts";
import { Admission, type AdmissionLimits, type Entry } from "./admission.ts";
import type { Authentication } from "./authentication.ts";
import { offeredKeys } from "./host-key.ts";
import { boundReading } from "./reading.ts";

export type ConnectionSettings = Readonly<{
  /** Connections of one user, in this process. */
  connectionsMaxPerUser: number;
  /** A connection without a command is closed after this. */
  unusedMs: number;
  /** Wrong keys and other attempts that a client has. */
  attemptsMax: number;
  /** Channels at once; git needs one. */
  sessionsMax: number;
  /** Channels one after another: each costs a little for as long as the connection lives. */
  sessionsMaxInAll: number;
}>;

const connectionSettingsDefault: ConnectionSettings = {
  connectionsMaxPerUser: 64,
  unusedMs: 60_000,
  attemptsMax: 10,
  sessionsMax: 8,
  sessionsMaxInAll: 1_000,
};

export type SshServerOptions = Readonly<{
  host: string;
  /** 0: any that is free. */
  port: number;
  hostKeys: readonly string[];
  limits?: Partial<AdmissionLimits & ConnectionSettings>;
  authenticate: (attempt: AuthContext) => Promise<Authentication>;
  log: Logger;
}>;

/** An authenticated connection. */
export type AuthenticatedConnection = Readonly<{
  by: SshLoginRow;
  ip: string;
  socket: Socket;
  connection: Connection;
}>;

export type SshServer = Readonly<{ host: string; port: number; close: () => Promise<void> }>;

/** Called for each channel a client opens; `done` when nothing is at work on it any more. */
export type OnSession = (session: Session, done: () => void) => void;

/**
 * AES is fast in hardware and in OpenSSL; what is old or weak is left out. ChaCha20 is neither, but is
 * computed here in WebAssembly, and clients that know it would rather have it than AES.
 */
const algorithms = {
  // Groups of more than 4,096 bits would keep the event loop for each handshake; those that the client chooses are not
  // known to the library of the server, where a handshake by them would fail.
  kex: [
    "curve25519-sha256",
    "curve25519-sha256@libssh.org",
    "ecdh-sha2-nistp256",
    "ecdh-sha2-nistp384",
    "ecdh-sha2-nistp521",
    "diffie-hellman-group14-sha256",
    "diffie-hellman-group16-sha512",
  ],
  cipher: ["aes128-gcm@openssh.com", "aes256-gcm@openssh.com", "aes128-ctr", "aes256-ctr"],
  hmac: ["hmac-sha2-256-etm@openssh.com", "hmac-sha2-512-etm@openssh.com", "hmac-sha2-256"],
  // Compressed already: packs gain nothing, and a small packet could become a large one.
  compress: ["none"],
} as const;

/** A keepalive is sent this often; three without an answer end the connection. */
const keepaliveMs = 15_000;
const keepaliveMax = 3;

/** Listens for SSH; `onSession` alone decides what a connection may request. */
export async function startSshServer(
  options: SshServerOptions,
  onSession: (authenticated: AuthenticatedConnection) => OnSession,
): Promise<SshServer> {
  const { hostKeys, limits = {} } = options;
  const connections = new Admission(limits);
  const serving = { ...connectionSettingsDefault, ...limits };
  const { connectionsMaxPerUser: share } = serving;
  const ofUsers = new Limit({
    name: "ssh.authenticated_connections",
    total: connections.total,
    share,
    whenFull: "refuse",
  });
  /** By address and port of the peer, under which the library knows them. */
  const entries = new Map<string, Entry>();
  const server = new ssh2.Server({
    hostKeys: offeredKeys(hostKeys),
    ident: "Ledgerforge",
    algorithms: {
      kex: [...algorithms.kex],
      cipher: [...algorithms.cipher],
      hmac: [...algorithms.hmac],
      compress: [...algorithms.compress],
    },
    keepaliveInterval: keepaliveMs,
    keepaliveCountMax: keepaliveMax,
  });
  server.on("connection", (connection, { ip, port }) => {
    const entry = entries.get(`${ip} ${port}`);
    // The library reports errors of the line here as well; it closes it by itself.
    connection.on("error", () => undefined);
    if (entry === undefined) return void connection.end();
    serveConnection(connection, entry, { ...options, serving, ofUsers, onSession });
  });

  const listener = createServer({ noDelay: true }, (socket) => {
    socket.on("error", () => undefined);
    const entry = connections.enter(socket);
    if (entry === undefined) return;
    const key = `${socket.remoteAddress} ${socket.remotePort}`;
    entries.set(key, entry);
    socket.once("close", () => entries.delete(key));
    // The library reads packets as the socket hands them on, for all channels of a connection.
    const running = { name: "ssh-connection", caller: networkOf(entry.ip) };
    if (isSuspended(running)) return void socket.destroy();
    const bound = { ...running, emitter: socket, isOver: () => socket.closed };
    bindOperation(bound, () => server.injectSocket(socket));
  });
  const { host, port } = await new Promise<Readonly<{ host: string; port: number }>>(
    (resolve, reject) => {
      listener.once("error", reject);
      listener.listen(options.port, options.host, () => {
        const bound = listener.address();
        if (bound === null || typeof bound === "string") return reject(new Error("no address"));
        resolve({ host: bound.address, port: bound.port });
      });
    },
  );
  return {
    host,
    port,
    async close() {
      const closed = new Promise<void>((resolve) => listener.close(() => resolve()));
      connections.closeAll();
      await closed;
    },
  };
}

type Serving = SshServerOptions &
  Readonly<{
    serving: ConnectionSettings;
    ofUsers: Limit;
    onSession: (authenticated: AuthenticatedConnection) => OnSession;
  }>;

function serveConnection(connection: Connection, entry: Entry, serving: Serving): void {
  const { authenticate, log, ofUsers } = serving;
  const { attemptsMax } = serving.serving;
  const { socket, ip } = entry;
  let attempts = 0;
  let authenticated: AuthenticatedConnection | undefined;

  const decide = async (attempt: AuthContext): Promise<void> => {
    const authentication = await authenticate(attempt);
    if (authentication.kind === "authenticated")
      authenticated = { by: authentication.by, ip, socket, connection };
    if (authentication.kind !== "refused") return attempt.accept();
    // The method "none" requests the list of methods.
    if (attempt.method !== "none") attempts += 1;
    if (attempts >= attemptsMax) return void socket.destroy();
    attempt.reject(["publickey"]);
  };
  connection.on("authentication", (attempt) => {
    decide(attempt).catch((error: unknown) => {
      log.warn({ err: error, ip }, "an SSH login could not be checked");
      socket.destroy();
    });
  });
  connection.once("ready", () => {
    if (authenticated === undefined || socket.destroyed) return void socket.destroy();
    const hold = ofUsers.tryTake({ caller: authenticated.by.user_id });
    if (hold === undefined) return void socket.destroy();
    socket.once("close", hold.leave);
    entry.authenticated();
    boundReading(connection, socket, authenticated.by.user_id);
    serveSessions(connection, authenticated, serving);
  });
}

function serveSessions(
  connection: Connection,
  authenticated: AuthenticatedConnection,
  serving: Serving,
): void {
  const { unusedMs, sessionsMax, sessionsMaxInAll } = serving.serving;
  const { socket } = authenticated;
  const onSession = serving.onSession(authenticated);
  let [open, inAll] = [0, 0];
  const wait = (): NodeJS.Timeout => setTimeout(() => socket.destroy(), unusedMs);
  let unused = wait();
  socket.once("close", () => clearTimeout(unused));

  connection.on("session", (accept, reject) => {
    if (open >= sessionsMax || inAll >= sessionsMaxInAll) return reject();
    [open, inAll] = [open + 1, inAll + 1];
    let [over, isRunning] = [false, false];
    const done = (): void => {
      if (over) return;
      over = true;
      open -= 1;
      if (open > 0 || socket.destroyed) return;
      clearTimeout(unused);
      unused = wait();
    };
    const session = accept();
    // A command whose channel is closed counts until it has ended.
    const leave = (): void => void (isRunning || done());
    session.once("close", leave);
    session.on("error", leave);
    // What is only opened does not count as use: the time for it goes on.
    session.once("exec", () => {
      isRunning = true;
      clearTimeout(unused);
    });
    onSession(session, done);
  });
}
