import type { Socket } from "node:net";
import { PassThrough, type Readable, Transform, Writable } from "node:stream";
import type { Connection, ServerChannel } from "ssh2";

import { afterKeyExchange } from "./reading.ts";

/** The streams between one command and its client. */
export type ChannelStream = Readonly<{
  /** What the client sends; ends when the client ends it or is gone. */
  input: Readable;
  /** Taken as fast as the client takes it. */
  output: Writable;
  /** Text for the person at the client, on its standard error. */
  say: (text: string) => void;
  end: (exitCode: number) => void;
  /** Aborted when the channel or the connection is closed. */
  disconnected: AbortSignal;
}>;

export type ChannelLimits = Readonly<{
  /** A connection without any byte for so long is closed: git reports progress every few seconds. */
  idleMs: number;
  /** Longest time of a command. No clone or push of a repository takes longer. */
  totalMs: number;
}>;

/**
 * What may wait in the socket beyond the window of SSH: the window is the client's to choose, and
 * one that opens it wide and reads nothing must not fill our memory.
 */
const socketBytesMax = 1024 ** 2;
/** Clients request 32 KiB; with tiny packets each byte would need a hundred bytes on the connection. */
const packetBytesMin = 1024;
/** What the library lets a client send before it is read: two windows, and room. Who sends more keeps to no window. */
const unreadBytesMax = 8 * 1024 ** 2;
const checkMs = 5_000;

export type Line = Readonly<{ socket: Socket; connection: Connection }>;

/** Undefined when the client requests a packet size that no real client uses. */
export function openChannelStream(
  channel: ServerChannel,
  { socket, connection }: Line,
  limits: ChannelLimits,
): ChannelStream | undefined {
  const { packetSize } = channel.outgoing as Readonly<{ packetSize: number }>;
  if (packetSize < packetBytesMin) {
    socket.destroy();
    return undefined;
  }
  const disconnected = new AbortController();
  const leave = (): void => disconnected.abort();
  channel.once("close", leave);
  socket.once("close", leave);
  channel.on("error", leave);
  const bound = (): void => {
    if (channel.readableLength > unreadBytesMax) socket.destroy();
  };
  socket.on("data", bound);

  let moved = 0;
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      moved += chunk.length;
      done(null, chunk);
    },
  });
  const input = channel.pipe(counted).pipe(new PassThrough());
  const output = outputOf(channel, { socket, connection }, (bytes) => {
    moved += bytes;
  });
  // A writer to a client that is gone gets an error.
  disconnected.signal.addEventListener("abort", () => {
    socket.off("data", bound);
    output.destroy();
    if (!counted.writableEnded) counted.end();
  });
  watch(() => moved, limits, socket, disconnected.signal);

  return {
    input,
    output,
    say: (text) => void (disconnected.signal.aborted || channel.stderr.write(text)),
    end(exitCode) {
      if (disconnected.signal.aborted) return;
      // What still comes is dropped.
      channel.unpipe().resume();
      channel.exit(exitCode);
      channel.end();
    },
    disconnected: disconnected.signal,
  };
}

function outputOf(
  channel: ServerChannel,
  { socket, connection }: Line,
  onMoved: (bytes: number) => void,
): Writable {
  const send = (chunk: Buffer, done: () => void): void => {
    // Packets hold half of what git writes at once: they go out together.
    socket.cork();
    process.nextTick(() => socket.uncork());
    channel.write(chunk, () => {
      onMoved(chunk.length);
      if (socket.writableLength > socketBytesMax) socket.once("drain", done);
      else done();
    });
  };
  const output = new Writable({
    write: (chunk: Buffer, _encoding, done) =>
      afterKeyExchange(connection, () => send(chunk, done)),
  });
  output.on("error", () => undefined);
  return output;
}

function watch(
  moved: () => number,
  limits: ChannelLimits,
  socket: Socket,
  disconnected: AbortSignal,
): void {
  const begun = Date.now();
  let [last, lastAt] = [0, begun];
  const timer = setInterval(
    () => {
      const now = Date.now();
      if (moved() !== last) [last, lastAt] = [moved(), now];
      if (now - lastAt > limits.idleMs || now - begun > limits.totalMs) socket.destroy();
    },
    Math.min(checkMs, limits.idleMs / 2),
  );
  timer.unref();
  disconnected.addEventListener("abort", () => clearInterval(timer));
}
