import { setTimeout as sleep } from "node:timers/promises";

import { beginAppend, streamsClient } from "./cut-append.ts";

/** Sends parts of appends, never their end, until it is killed: `<url> <stream>…`; prints a line. */
const [url = "", ...streams] = process.argv.slice(2);
const client = streamsClient(url);
const appends = streams.map((stream) => beginAppend(client, stream));
for (const [index, append] of appends.entries()) append.send(1 + index, 100 * index);
process.stdout.write("sending\n");
for (;;) {
  for (const append of appends) append.send(1, 1_000);
  await sleep(2);
}
