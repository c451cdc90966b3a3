import { open, rename, stat } from "node:fs/promises";

const bytesMax = 16 * 1024 * 1024;
const tailBytes = 2_000;

/** Sets a log aside that has grown; one earlier log is kept. For when its process starts. */
export async function rotateLog(file: string): Promise<void> {
  const size = await stat(file).then(
    (entry) => entry.size,
    () => 0,
  );
  if (size > bytesMax) await rename(file, `${file}.1`);
}

/**
 * The end of a log, for the error that stops a start.
 *
 * @param since bytes at its beginning that are of earlier starts.
 */
export async function logTail(file: string, since = 0): Promise<string> {
  const handle = await open(file, "r");
  try {
    const { size } = await handle.stat();
    const from = Math.max(since, size - tailBytes);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(tailBytes), 0, tailBytes, from);
    return `The end of ${file}:\n${buffer.toString("utf8", 0, bytesRead).trim()}`;
  } finally {
    await handle.close();
  }
}
