import type { IncomingMessage, Server, ServerResponse } from "node:http";

const awaiting = new WeakMap<IncomingMessage, ServerResponse>();

/**
 * Keeps clients that send `Expect: 100-continue` (RFC 9110, 10.1.1) waiting until the body is read: a
 * client that may not send it, or sends too much, receives the refusal before it sends gigabytes.
 */
export function delayContinue(server: Server): void {
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    awaiting.set(request, response);
    // Whether the body still comes after a refusal is the client's choice: the next request must not
    // be looked for where it may be.
    response.shouldKeepAlive = false;
    server.emit("request", request, response);
  });
}

/** Called when the body is about to be read. Does nothing for a client that does not wait, or was answered before. */
export function sendContinue(request: IncomingMessage): void {
  const response = awaiting.get(request);
  if (response === undefined) return;
  awaiting.delete(request);
  if (!response.headersSent && !request.destroyed) response.writeContinue();
}

/** Whether the client waits for `100 Continue`, so that no byte of its body is on the way. */
export const awaitsContinue = (request: IncomingMessage): boolean => awaiting.has(request);
