import { type AddressInfo, connect, createServer, type Socket } from "node:net";

import { eventually } from "../app/eventually.ts";

export type Gate = Readonly<{
  port: number;
  /** From now on new connections are accepted and wait. */
  hold: () => void;
  /** Connections that wait. */
  held: () => number;
  /** Connections that wait go through, and so do later ones. */
  release: () => void;
}>;

/** A port before that of a server, which can hold new connections. It closes with the test file. */
export async function openGate(targetPort: number): Promise<Gate> {
  const sockets: Socket[] = [];
  let waiting: Socket[] | undefined;
  const pass = (from: Socket): void => {
    const to = connect(targetPort, "127.0.0.1");
    sockets.push(to);
    from.pipe(to).pipe(from);
    to.on("error", () => from.destroy());
    from.on("error", () => to.destroy());
  };
  const server = createServer((socket) => {
    sockets.push(socket);
    if (waiting === undefined) pass(socket);
    else waiting.push(socket);
  }).listen(0, "127.0.0.1");
  await eventually(() => server.listening);
  after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return {
    port: (server.address() as AddressInfo).port,
    hold() {
      waiting = [];
    },
    held: () => waiting?.length ?? 0,
    release() {
      const released = waiting ?? [];
      waiting = undefined;
      for (const socket of released) if (!socket.destroyed) pass(socket);
    },
  };
}
