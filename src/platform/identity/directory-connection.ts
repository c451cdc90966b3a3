import { isIP, connect as netConnect, type Socket } from "node:net";
import { connect as tlsConnect } from "node:tls";
import type { Client } from "ldapts";

import { guardedLookup } from "../outbound/http.ts";
import { systemResolve } from "../outbound/resolve.ts";
import { addressRefused, type DirectoryAddress, type DirectoryGuard } from "./directory-address.ts";
import { joinMessages } from "./directory-message.ts";

export type DirectoryTls = Readonly<{
  startTls: boolean;
  /** PEM of the authority to trust; null for the public ones. */
  caCert: string | null;
}>;

export type DirectoryLimits = Readonly<{ connectMs: number; operationMs: number }>;

/** Nobody's entry is that large: a server that says more is not listened to. */
const answerBytesMax = 1024 * 1024;

const startTlsOid = "1.3.6.1.4.1.1466.20037";

/**
 * A connection to a directory: the name is resolved once, by the connection itself, and every address
 * of the answer must be allowed. TLS certificates are always checked.
 *
 * @throws DirectoryRefused, or the error of node:net, node:tls or node:dns
 */
export async function connectDirectory(
  address: DirectoryAddress,
  tls: DirectoryTls,
  { guard, limits }: Readonly<{ guard: DirectoryGuard; limits: DirectoryLimits }>,
): Promise<Client> {
  const plain = await connected(
    netConnect({
      host: address.host,
      port: address.port,
      lookup: guardedLookup(
        systemResolve,
        (resolved) => guard.isAllowed(address, resolved),
        addressRefused,
      ),
    }),
    "connect",
    limits.connectMs,
  );
  try {
    // A literal address is not looked up, so this is where it is held against the guard.
    if (!guard.isAllowed(address, plain.remoteAddress ?? "")) throw addressRefused();
    if (tls.startTls) await startTls(plain, limits);
    const secure = address.secure || tls.startTls;
    return await clientOver(secure ? await secured(plain, address, tls, limits) : plain, limits);
  } catch (error) {
    plain.destroy();
    throw error;
  }
}

async function clientOver(
  socket: Socket,
  { operationMs, connectMs }: DirectoryLimits,
): Promise<Client> {
  // Loaded at the first login by LDAP; before anything is read, so that no bytes are missed.
  const { Client } = await import("ldapts");
  joinMessages(socket, answerBytesMax);
  let taken = false;
  return new Client({
    url: "ldap://directory",
    timeout: operationMs,
    connectTimeout: connectMs,
    createConnection: () => {
      // A client that lost its connection would open another, without what this one was secured by.
      if (taken) throw new Error("The connection to the directory was lost.");
      taken = true;
      return socket;
    },
  });
}

/**
 * Requests TLS with a client of its own. Its parser is dropped with all bytes that arrived before TLS began: what an
 * attacker put there must not be read as an answer later.
 */
async function startTls(socket: Socket, limits: DirectoryLimits): Promise<void> {
  const client = await clientOver(socket, limits);
  await client.exop(startTlsOid);
  for (const event of ["data", "error", "close", "end", "timeout"]) {
    socket.removeAllListeners(event);
  }
}

function secured(
  socket: Socket,
  { host }: DirectoryAddress,
  { caCert }: DirectoryTls,
  { connectMs }: DirectoryLimits,
): Promise<Socket> {
  const secure = tlsConnect({
    socket,
    host,
    minVersion: "TLSv1.2",
    ...(isIP(host) === 0 && { servername: host }),
    ...(caCert !== null && { ca: caCert }),
  });
  return connected(secure, "secureConnect", connectMs);
}

function connected(socket: Socket, event: string, limitMs: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      socket.destroy(new Error(`No connection within ${limitMs} ms.`));
    }, limitMs);
    const failed = (error: Error): void => {
      clearTimeout(timer);
      reject(error);
    };
    // Stays, so that an error between two uses is not one of the whole process.
    socket.on("error", failed);
    socket.once("close", () => failed(new Error("The directory closed the connection.")));
    socket.once(event, () => {
      clearTimeout(timer);
      resolve(socket);
    });
  });
}
