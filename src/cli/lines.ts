import { once } from "node:events";
import { stdout } from "node:process";

/** Writes lines no faster than they are read, until the reader closes the pipe, as `| head` does. */
export async function writeLines(lines: AsyncIterable<string>): Promise<void> {
  let closed = false;
  const onError = (): void => {
    closed = true;
  };
  stdout.on("error", onError);
  try {
    for await (const line of lines) {
      if (closed) return;
      if (!stdout.write(`${line}\n`)) await once(stdout, "drain").catch(onError);
    }
  } finally {
    stdout.off("error", onError);
  }
}
