import type { Socket } from "node:net";
import type { Connection } from "ssh2";

import { waitTurn } from "../platform/event-loop/small-pieces.ts";

/** What takes longer to read holds many small packets: a push has few large ones. */
const pieceMs = 1;
/** Replies that wait in the socket; what commands write waits there only up to half of it. */
const unsentBytesMax = 2 * 1024 ** 2;
/** Packets that wait for the end of a key exchange. */
const queuedPacketsMax = 1_024;
/** Key exchanges of a connection, and one more for so many bytes: each computes a secret and a signature. */
const exchangesMax = 16;
const bytesPerExchange = 256 * 1024;

/** Private members of the library: nothing public says that a key exchange is under way. */
type Internals = Readonly<{
  _protocol: Readonly<{ _kexinit?: unknown; _queue?: readonly unknown[] }>;
}>;

const protocolOf = (connection: Connection) => (connection as unknown as Internals)._protocol;

/**
 * Bounds what an authenticated connection may take of the event loop and of memory. A packet of 16 bytes takes as
 * much time as a large one, so of connections with small packets one is read in each turn of the event loop, and users
 * take turns. Every request may have a reply, so nothing is read while the client does not take the replies.
 */
export function boundReading(connection: Connection, socket: Socket, userId: string): void {
  let begun = 0;
  let exchanges = 0;
  socket.prependListener("data", () => {
    begun = performance.now();
  });
  socket.on("data", () => {
    const { _queue: queued = [] } = protocolOf(connection);
    if (queued.length > queuedPacketsMax) return void socket.destroy();
    const isFull = socket.writableLength > unsentBytesMax;
    if (!isFull && performance.now() - begun < pieceMs) return;
    socket.pause();
    const goOn = (): void => void socket.resume();
    if (isFull) socket.once("drain", goOn);
    else waitTurn(userId, goOn);
  });
  connection.on("rekey", () => {
    exchanges += 1;
    const bytes = socket.bytesRead + socket.bytesWritten;
    if (exchanges > exchangesMax + bytes / bytesPerExchange) socket.destroy();
  });
}

/** During a key exchange the library keeps all that is written, however long the client takes. */
export function afterKeyExchange(connection: Connection, run: () => void): void {
  if (protocolOf(connection)._kexinit === undefined) run();
  else connection.once("rekey", run);
}
