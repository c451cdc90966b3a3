import { readFile } from "node:fs/promises";
import http from "node:http";
import path from "node:path";
import { buffer } from "node:stream/consumers";
import { z } from "zod";

import { packageRoot } from "../../../src/platform/installation.ts";

/** A request of a client, and the status that it was content with: recorded by a proxy between it and the service. */
const Exchange = z.strictObject({
  method: z.string(),
  path: z.string(),
  /** In the order and the spelling of the client. */
  headers: z.array(z.tuple([z.string(), z.string()])),
  status: z.int(),
});

/** What recordings of a kind of client hold. @param more of each exchange */
export const recordingWith = <More extends z.ZodRawShape>(more: More) =>
  z.strictObject({ client: z.string(), exchanges: z.array(Exchange.extend(more)) });

/** @param file below the project */
export async function readRecording<Schema extends z.ZodType>(
  schema: Schema,
  file: string,
): Promise<z.output<Schema>> {
  return schema.parse(JSON.parse(await readFile(path.join(packageRoot, file), "utf8")));
}

type Sent = Readonly<{
  method: string;
  headers: Readonly<Record<string, string>>;
  body: Buffer;
}>;

/** Sends a request with the names of its headers as they are; Node adds nothing that is there. */
export async function sendRecorded(url: string, { method, headers, body }: Sent) {
  const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
    const request = http.request(url, { method, headers }, resolve);
    request.on("error", reject).end(body);
  });
  return { response, content: Buffer.from(await buffer(response)) };
}
