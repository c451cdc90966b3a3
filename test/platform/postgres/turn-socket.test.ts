import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { expect } from "chai";

import { TurnSocket } from "../../../src/platform/postgres/turn-socket.ts";

class CountingSocket extends TurnSocket {
  writes = 0;
  override _writev(...written: Parameters<NonNullable<TurnSocket["_writev"]>>): void {
    this.writes += 1;
    super._writev?.(...written);
  }
}

const statement = (socket: TurnSocket, text: string): void => {
  socket.cork();
  for (const part of text) socket.write(part);
  socket.uncork();
};

describe("a socket that sends the statements of one turn together", () => {
  let server: Server;
  let received = "";
  let socket: CountingSocket;
  beforeEach(async () => {
    received = "";
    server = createServer((connection) => {
      connection.on("data", (data) => {
        received += String(data);
      });
      connection.on("end", () => connection.end());
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    socket = new CountingSocket();
    const address = server.address();
    socket.connect(typeof address === "object" && address !== null ? address.port : 0, "127.0.0.1");
    await once(socket, "connect");
  });
  afterEach(() => {
    socket.destroy();
    server.close();
  });

  it("writes several by one call, in their order, and the next turn by another", async () => {
    for (const text of ["one", "two", "three"]) statement(socket, text);
    socket.write(";");
    await new Promise(setImmediate);
    expect(socket.writes).to.equal(1);
    statement(socket, "four");
    await new Promise(setImmediate);
    expect(socket.writes).to.equal(2);
    socket.end();
    await once(socket.resume(), "close");
    expect(received).to.equal("onetwothree;four");
  });
});
