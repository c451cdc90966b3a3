import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";

import { ConfigError } from "../config.ts";

/**
 * Checks before anything is started that no other process listens there.
 *
 * @param variable that holds the port, for the message
 * @throws ConfigError when the port is in use or may not be used
 */
export async function mustBeFree(host: string, port: number, variable: string): Promise<void> {
  if (port === 0) return;
  const server = createServer();
  try {
    await once(server.listen(port, host), "listening");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    const why = code === "EADDRINUSE" ? "is in use" : `cannot be listened on (${code})`;
    throw new ConfigError(`Port ${port} of ${host} ${why}: choose another ${variable}.`);
  }
  await new Promise((resolve) => server.close(resolve));
}

/** A port of the loopback address at which nothing listens. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  // A listening TCP server's address is an object; it is text for pipes only.
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return port;
}
