import { createServer } from "node:net";

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
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject).listen(port, host, resolve);
    });
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    const why = code === "EADDRINUSE" ? "is in use" : `cannot be listened on (${code})`;
    throw new ConfigError(`Port ${port} of ${host} ${why}: choose another ${variable}.`);
  }
  await new Promise((resolve) => server.close(resolve));
}
