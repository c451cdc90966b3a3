import { EventEmitter, once } from "node:events";
import type { Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect } from "chai";
import type { Connection } from "ssh2";

import { afterKeyExchange, boundReading } from "../../src/ssh/reading.ts";

/** The fields of a connection that are read, and what becomes of it. */
function connected() {
  const socket = Object.assign(new EventEmitter(), {
    ...{ writableLength: 0, bytesRead: 0, bytesWritten: 0, isPaused: false, isDestroyed: false },
    pause: () => {
      socket.isPaused = true;
    },
    resume: () => {
      socket.isPaused = false;
      socket.emit("resumed");
    },
    destroy: () => {
      socket.isDestroyed = true;
    },
  });
  const protocol: { _kexinit?: object; _queue?: object[] } = {};
  const connection = Object.assign(new EventEmitter(), { _protocol: protocol });
  const line = connection as unknown as Connection;
  return { socket, asSocket: socket as unknown as Socket, connection, line, protocol };
}

const readFor = (ms: number) => (): void => {
  const begun = performance.now();
  while (performance.now() - begun < ms);
};

describe("reading of an authenticated connection over SSH", () => {
  it("lets others have their turn after a piece that took long, one connection after another", async () => {
    const all = [connected(), connected()];
    const resumed: number[] = [];
    for (const [index, { socket, asSocket, line }] of all.entries()) {
      socket.on("data", readFor(3));
      boundReading(line, asSocket, "user");
      socket.on("resumed", () => resumed.push(index));
      socket.emit("data");
    }
    expect(all.map(({ socket }) => socket.isPaused)).to.deep.equal([true, true]);
    await nextTurn();
    expect(resumed).to.deep.equal([0]);
    await nextTurn();
    expect(resumed).to.deep.equal([0, 1]);
  });

  it("waits for a client that takes no replies", async () => {
    const { socket, asSocket, line } = connected();
    boundReading(line, asSocket, "user");
    socket.writableLength = 3 * 1024 ** 2;
    socket.emit("data");
    await nextTurn();
    await nextTurn();
    expect(socket.isPaused).to.equal(true);
    socket.emit("drain");
    expect(socket.isPaused).to.equal(false);
  });

  it("ends with replies that pile up in a key exchange, and with many exchanges", () => {
    const queueing = connected();
    boundReading(queueing.line, queueing.asSocket, "user");
    queueing.protocol._queue = Array.from({ length: 2_000 }, () => ({}));
    queueing.socket.emit("data");
    expect(queueing.socket.isDestroyed).to.equal(true);

    const { socket, asSocket, connection, line } = connected();
    boundReading(line, asSocket, "user");
    for (let exchange = 0; exchange < 16; exchange += 1) connection.emit("rekey");
    expect(socket.isDestroyed).to.equal(false);
    socket.bytesRead = 1024 ** 2;
    for (let exchange = 0; exchange < 4; exchange += 1) connection.emit("rekey");
    expect(socket.isDestroyed).to.equal(false);
    connection.emit("rekey");
    expect(socket.isDestroyed).to.equal(true);
  });

  it("lets what is written wait for the end of a key exchange", async () => {
    const { connection, line, protocol } = connected();
    protocol._kexinit = {};
    const written = new EventEmitter();
    const ended = once(written, "run");
    let runs = 0;
    written.on("run", () => (runs += 1));
    afterKeyExchange(line, () => void written.emit("run"));
    await nextTurn();
    expect(runs).to.equal(0);
    delete protocol._kexinit;
    connection.emit("rekey");
    await ended;
    afterKeyExchange(line, () => void written.emit("run"));
    expect(runs).to.equal(2);
  });
});
