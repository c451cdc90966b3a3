import { readFile } from "node:fs/promises";
import { z } from "zod";

import { ConfigError } from "../config.ts";

const HeadFile = z.object({
  size: z.int().min(0),
  rootHash: z.base64(),
  timestamp: z.string(),
  signature: z.base64(),
  checkpoint: z.string(),
});

/** A head of the log that was kept outside. */
export type SavedHead = Readonly<{
  size: bigint;
  root: Buffer;
  timestamp: string;
  signature: Buffer;
  /** Name of the log in the signed text: its first line. */
  origin: string;
}>;

/**
 * @param file holds an answer of `/log/head`
 * @throws ConfigError
 */
export async function readHead(file: string): Promise<SavedHead> {
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new ConfigError(`${file} cannot be read (${error.code}).`);
  });
  try {
    const head = HeadFile.parse(JSON.parse(text));
    return {
      size: BigInt(head.size),
      root: Buffer.from(head.rootHash, "base64"),
      timestamp: head.timestamp,
      signature: Buffer.from(head.signature, "base64"),
      origin: head.checkpoint.split("\n", 1)[0] ?? "",
    };
  } catch {
    throw new ConfigError(`${file} does not hold an answer of /log/head.`);
  }
}
