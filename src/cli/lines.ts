import { stdout } from "node:process";

/** Not all of the output reached its file, for example because the disk is full. */
export class OutputIncomplete extends Error {
  override readonly name = "OutputIncomplete";
}

/**
 * Writes lines no faster than they are read, until the reader closes the pipe, as `| head` does.
 *
 * @throws OutputIncomplete
 */
export async function writeLines(lines: Iterable<string> | AsyncIterable<string>): Promise<void> {
  let failure: NodeJS.ErrnoException | undefined;
  const onError = (error: NodeJS.ErrnoException): void => {
    failure ??= error;
  };
  const written = (text: string) =>
    new Promise<void>((resolve) => {
      stdout.write(text, (error) => {
        if (error) onError(error);
        resolve();
      });
    });
  stdout.on("error", onError);
  try {
    for await (const line of lines) {
      if (failure !== undefined) break;
      await written(`${line}\n`);
    }
  } finally {
    stdout.off("error", onError);
  }
  if (failure === undefined || failure.code === "EPIPE") return;
  throw new OutputIncomplete(`The output is incomplete: it cannot be written (${failure.code}).`);
}
