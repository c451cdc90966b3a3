import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

const underWay = new WeakMap<Socket, Set<ServerResponse>>();

/**
 * Has a response close when its line does. Node.js reports that only to the response whose turn it is: those to
 * requests that were sent before it ended would have their programs and places for ever.
 */
export function closeWithLine({ socket }: IncomingMessage, response: ServerResponse): void {
  const responses = underWay.get(socket) ?? new Set();
  if (!underWay.has(socket)) {
    underWay.set(socket, responses);
    socket.once("close", () => {
      for (const each of responses) if (each.socket === null && !each.closed) close(each);
    });
  }
  for (const each of responses) if (each.closed) responses.delete(each);
  responses.add(response);
}

function close(response: ServerResponse): void {
  response.destroy();
  response.emit("close");
}
