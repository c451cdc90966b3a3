import type { Readable } from "node:stream";

/** Reads what a program prints, and gives the end of it: it says why the program failed. */
export function lastText(stream: Readable, lengthMax = 2_000): () => string {
  let text = "";
  stream.on("data", (chunk: Buffer) => {
    text = (text + chunk.toString()).slice(-lengthMax);
  });
  return () => text;
}
