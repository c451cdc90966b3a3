import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

import { accessTokenStream } from "../src/events/token/access-token.ts";
import type { EventStore } from "../src/platform/event-store/event-store.ts";
import { hashToken, newToken, tokenPrefixes } from "../src/platform/key/token.ts";
import { eventually } from "../test/support/app/eventually.ts";
import { metadataFor } from "../test/support/app/history.ts";
import { figure, quantile } from "./figure.ts";
import { withStoresOf } from "./inside.ts";
import { withService } from "./service.ts";
import { settled } from "./settled.ts";

/**
 * How long an event takes from the request that makes it to every reader of the feed of its project, and what an event
 * costs the process that answers for each reader: what it takes beyond the same requests without readers, and beyond
 * the same time with readers and no events, in which rights are checked again. The readers are this one process, on
 * the same processors. `node --import tsx bench/feed.ts [readers] [events]`
 */
const readers = Number(process.argv[2] ?? 1_000);
const events = Number(process.argv[3] ?? 50);
const readersPerUser = 25;
const pauseMs = 100;

await withService(async ({ service, authorization }) => {
  const post = async (at: string, body: object): Promise<void> => {
    const answer = await fetch(service.url + at, {
      method: "POST",
      headers: { authorization, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  };
  await post("/project", { title: "Feed", alias: "feed", isPrivate: false });
  const path = "/project/bench/feed";
  const make = (title: string) => post(`${path}/label`, { title, hexColor: "#aabbcc" });
  const tokens = Array.from({ length: Math.ceil(readers / readersPerUser) }, () =>
    newToken(tokenPrefixes.access),
  );
  await withStoresOf(service, async ({ store }) => {
    for (const [n, token] of tokens.entries()) await addUser(store, `reader${n}`, token);
  });
  const pid = await service.pidOf("http");
  /** Milliseconds of a processor that the requests take in the process that answers. */
  const spent = async (name: string, made: (title: string) => Promise<void>): Promise<number> => {
    await settled(service);
    const before = await processorMs(pid);
    for (let n = 0; n < events; n += 1) {
      await made(`${name} ${n}`);
      await delay(pauseMs);
    }
    return (await processorMs(pid)) - before;
  };
  await spent("warm", make);
  const alone = await spent("alone", make);

  const sockets: Socket[] = [];
  /** When the readers got each event, in the order of the events. */
  const got: number[][] = [];
  for (let n = 0; n < readers; n += 1) {
    const token = tokens[n % tokens.length] ?? "";
    sockets.push(await reader(service.url, `${path}/events`, token, got));
  }
  const begun: number[] = [];
  const together = await spent("read", async (title) => {
    begun.push(performance.now());
    await make(title);
  });
  const idle = await whileIdle(pid, performance.now() - (begun[0] ?? 0));
  const isThere = (n: number): boolean => got[n]?.length === readers;
  await eventually(() => begun.every((_, n) => isThere(n)), 30_000);
  for (const socket of sockets) socket.destroy();

  const took = begun.flatMap((start, n) => (got[n] ?? []).map((time) => time - start));
  const median = { name: "median", value: quantile(took, 0.5) };
  figure(`an event to ${readers} readers, p99`, "ms", quantile(took, 0.99), median);
  const each = (ms: number) => (ms * 1_000) / events;
  const reading = (each(together) - each(alone) - each(idle)) / readers;
  const baseline = { name: "the request that makes it", value: each(alone) };
  figure("processor of an event and a reader", "µs", reading, baseline);
  process.stdout.write(`rights of the readers, in as much time: ${idle} ms of a processor\n`);
});

/** Milliseconds of a processor that a process takes in some time by itself. */
async function whileIdle(pid: number, ms: number): Promise<number> {
  const before = await processorMs(pid);
  await delay(ms);
  return (await processorMs(pid)) - before;
}

/** Opens a stream and notes when each event arrives. */
async function reader(url: string, path: string, token: string, got: number[][]): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const headers = ["Host: bench", `Authorization: token ${token}`, "Accept: text/event-stream"];
  socket.write(`GET ${path} HTTP/1.1\r\n${headers.join("\r\n")}\r\n\r\n`);
  const [first] = (await once(socket, "data")) as [Buffer];
  if (!first.includes("200 OK")) throw new Error(first.toString());
  let rest = "";
  let count = 0;
  socket.on("data", (some: Buffer) => {
    const now = performance.now();
    const text = rest + some.toString();
    const end = text.lastIndexOf("\n\n") + 2;
    if (end === 1) {
      rest = text;
      return;
    }
    for (const _ of text.slice(0, end).matchAll(/^event: LabelCreated$/gm)) {
      got[count] ??= [];
      got[count]?.push(now);
      count += 1;
    }
    rest = text.slice(end);
  });
  return socket;
}

async function addUser(store: EventStore, alias: string, token: string): Promise<void> {
  const [userId, tokenId, at] = [randomUUID(), randomUUID(), new Date().toISOString()];
  const append = (stream: string, type: string, data: object) => {
    const id = randomUUID();
    return store.append(stream, "none", [
      { id, type, data: { ...data }, metadata: metadataFor(id) },
    ]);
  };
  await append(`user-${userId}`, "UserRegistered", {
    ...{ userId, alias, email: `sealed.user-${userId}.AAAA`, emailDigest: randomUUID() },
    ...{ passwordHash: null, admin: false, confirmed: true, registeredAt: at },
  });
  const tokenHash = hashToken(token);
  await append(accessTokenStream(userId), "AccessTokenCreated", {
    ...{ tokenId, userId, kind: "ACCESS", name: "bench", scopes: ["PROJECT_READ"], tokenHash },
    ...{ expiresAt: null, createdAt: at },
  });
}

/** proc(5) counts in hundredths of a second. */
async function processorMs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(") ") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
