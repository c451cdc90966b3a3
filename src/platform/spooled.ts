import { randomUUID } from "node:crypto";
import { open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Readable } from "node:stream";

import type { Hold } from "./limit.ts";

/** Bytes that lie on the disk until they are needed. */
export type Spooled = Readonly<{
  read: () => Promise<Buffer>;
  /** Frees the disk; to be called once, whatever happens. */
  close: () => Promise<void>;
}>;

/**
 * Writes what comes to a file that has no name any more, so that nothing is left of it when the process ends.
 *
 * @param hold grows with the file, and is given back with it
 * @throws what the source throws; the refusal of the limit when the disk has no more room for the caller
 */
export async function spooled(source: Readable, hold: Hold): Promise<Spooled> {
  // An error before the first read would end the process; the read reports it as well.
  source.on("error", () => undefined);
  const file = path.join(tmpdir(), `ledgerforge-body-${randomUUID()}`);
  const handle = await open(file, "wx+", 0o600);
  const close = async (): Promise<void> => {
    hold.leave();
    await handle.close();
  };
  try {
    await rm(file);
    let bytes = 0;
    for await (const chunk of source as AsyncIterable<Buffer>) {
      hold.reach(bytes + chunk.length);
      await handle.write(chunk, 0, chunk.length, bytes);
      bytes += chunk.length;
    }
    return {
      close,
      async read() {
        const all = Buffer.alloc(bytes);
        for (let at = 0; at < bytes; ) {
          const { bytesRead } = await handle.read(all, at, bytes - at, at);
          if (bytesRead === 0) throw new Error("The spooled bytes are shorter than what came.");
          at += bytesRead;
        }
        return all;
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}
