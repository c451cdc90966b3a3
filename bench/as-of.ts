import { randomUUID } from "node:crypto";

import { metadataFor } from "../test/support/app/history.ts";
import { figure, median, timed } from "./figure.ts";
import { withStoresOf } from "./inside.ts";
import { type BenchService, withService } from "./service.ts";
import { serviceMs, settled } from "./settled.ts";

/**
 * Issues with 1,000 changes as they were, against the same issues as they are: each for the first time, then again, by
 * the clock and by the processor time of all processes. Other issues come before, because the tables of the past are
 * made once for all and code is compiled while it runs. The changes are appended to the log directly.
 * `node --import tsx bench/as-of.ts [changes] [issues] [warm-ups]`
 */
const changes = Number(process.argv[2] ?? 1_000);
const issues = Number(process.argv[3] ?? 40);
const warmUps = Number(process.argv[4] ?? 20);
const perAppend = 100;
const againRounds = 5;
const turns = 4;

type Numbered = Readonly<{ id: string; localId: number }>;
type Kind = "now" | "first" | "again";

await withService(async (bench) => {
  const { service, project } = bench;
  await project("past");
  const at = `${service.url}/project/bench/past`;
  const projectId = String((await send(bench, at))["id"]);
  const things: Numbered[] = [];
  for (let n = 0; n < issues + warmUps; n += 1) {
    const issue = await send(bench, `${at}/issue`, {
      title: "0",
      description: "It finds nothing.",
    });
    things.push({ id: String(issue["id"]), localId: Number(issue["localId"]) });
  }
  await withStoresOf(service, async ({ store }) => {
    for (const { id } of things) {
      for (let from = 1; from <= changes; from += perAppend) {
        const events = edits(projectId, from, Math.min(perAppend, changes - from + 1));
        await store.append(`issue-${id}`, BigInt(from - 1), events);
      }
    }
  });
  await settled(service);
  const newest = new Date().toISOString();
  const answer = async ({ localId }: Numbered, query = ""): Promise<void> => {
    const { title } = await send(bench, `${at}/issue/${localId}${query}`);
    if (title !== String(changes)) throw new Error(`The issue is ${title}`);
  };
  const then = (thing: Numbered) => answer(thing, `?asOf=${newest}`);
  const [warm, measured] = [things.slice(0, warmUps), things.slice(warmUps)];
  for (const thing of warm) for (const each of [answer, then, then]) await each(thing);

  const clock: Record<Kind, number[]> = { now: [], first: [], again: [] };
  const used: Record<Kind, number> = { now: 0, first: 0, again: 0 };
  const run = async (kind: Kind, some: readonly Numbered[], one: (thing: Numbered) => unknown) => {
    const before = await serviceMs(service);
    for (const thing of some) clock[kind].push(await timed(async () => one(thing)));
    used[kind] += (await serviceMs(service)) - before;
  };
  const size = Math.ceil(measured.length / turns);
  for (let from = 0; from < measured.length; from += size) {
    const some = measured.slice(from, from + size);
    const repeated = Array.from({ length: againRounds }, () => some).flat();
    await run("now", repeated, (thing) => answer(thing));
    await run("first", some, then);
    await run("again", repeated, then);
    await run("now", repeated, (thing) => answer(thing));
  }
  const each = (kind: Kind) => used[kind] / clock[kind].length;
  for (const kind of ["first", "again"] as const) {
    const name = `issue of ${changes} changes, ${kind}`;
    const today = { name: "as it is", value: median(clock.now) };
    figure(name, "ms", median(clock[kind]), today);
    figure(`${name}, processors`, "ms", each(kind), { name: "as it is", value: each("now") });
  }
});

function edits(projectId: string, from: number, count: number) {
  const at = new Date().toISOString();
  return Array.from({ length: count }, (_, n) => {
    const [id, details] = [randomUUID(), { title: String(from + n) }];
    const previousDetails = { title: String(from + n - 1) };
    const data = { projectId, details, previousDetails, editedById: projectId, editedAt: at };
    return { type: "IssueEdited", id, metadata: metadataFor(id, { occurredAt: at }), data };
  });
}

async function send(
  { authorization }: BenchService,
  url: string,
  body?: object,
): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(url, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text}`);
  return JSON.parse(text) as Readonly<Record<string, unknown>>;
}
