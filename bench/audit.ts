import { randomUUID } from "node:crypto";

import type { AnyEvent } from "../src/events/core/event.ts";
import { metadataFor } from "../test/support/app/history.ts";
import { figure, median, quantile, timed } from "./figure.ts";
import { withStoresOf } from "./inside.ts";
import { withService } from "./service.ts";
import { settled } from "./settled.ts";

/**
 * Pages of the audit of a project with many events against those of a project with few. Both have the same number of
 * events in the log, which the pages show; the others of the large one are rows of the audit's table alone, older than
 * these, because the log takes too long to fill. `node --import tsx bench/audit.ts [events] [few]`
 */
const many = Number(process.argv[2] ?? 1_000_000);
const few = Number(process.argv[3] ?? 10_000);
const rounds = 500;
const warmUps = 50;
const perAppend = 500;

await withService(async ({ service, authorization, project }) => {
  const send = async (path: string): Promise<Readonly<Record<string, unknown>>> => {
    const answer = await fetch(service.url + path, { headers: { authorization } });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
    return JSON.parse(text) as Readonly<Record<string, unknown>>;
  };
  const ranges = new Map<string, Readonly<{ from: bigint; to: bigint }>>();
  for (const name of ["few", "many"]) await project(name);
  await withStoresOf(service, async ({ db, store }) => {
    for (const name of ["few", "many"]) {
      const projectId = String((await send(`/project/bench/${name}`))["id"]);
      const positions: bigint[] = [];
      const labels = labelEvents(projectId);
      for (let at = 0; at < few; at += perAppend) {
        const expected = at === 0 ? "none" : BigInt(at - 1);
        const some = labels.events.slice(at, at + perAppend).map((event) => {
          const id = randomUUID();
          return { ...event, id, metadata: metadataFor(id) };
        });
        positions.push((await store.append(labels.stream, expected, some)).position);
      }
      await settled(service);
      ranges.set(name, { from: positions[0] ?? 0n, to: positions.at(-1) ?? 0n });
      if (name === "few") continue;
      await db.raw(
        `insert into read_model.audit_entry (position, event_id, stream, revision, type, subject_id, via, place_id,
           occurred_at, correlation_id, digest)
         select -n, md5(n::text), 'filler-' || n, 0, (array['LabelEdited', 'IssueEdited'])[1 + n % 2], n::text, 'system',
           ?::uuid, timestamptz '2026-01-01' - n * interval '1 s', n::text, ''
         from generate_series(1, ?::bigint) as n`,
        [projectId, many - few],
      );
      await db.raw("vacuum analyze read_model.audit_entry");
    }
  });
  for (const [what, query] of [
    ["newest page", () => ""],
    ["page before a position", (before: bigint) => `?before=${before}&size=50`],
    ["page of a type", (before: bigint) => `?before=${before}&type=LabelEdited`],
  ] as const) {
    const times = { few: [] as number[], many: [] as number[] };
    for (let round = -warmUps; round < rounds; round += 1) {
      for (const name of ["few", "many"] as const) {
        const { from, to } = ranges.get(name) ?? { from: 0n, to: 0n };
        const before = from + BigInt(Math.floor(Math.random() * Number(to - from)));
        const took = await timed(() => send(`/project/bench/${name}/audit${query(before)}`));
        if (round >= 0) times[name].push(took);
      }
    }
    for (const [part, of] of [
      ["median", median],
      ["p99", (values: readonly number[]) => quantile(values, 0.99)],
    ] as const) {
      const baseline = { name: `of ${few}`, value: of(times.few) };
      figure(`${what} of ${many}, ${part}`, "ms", of(times.many), baseline);
    }
  }
});

/** A label that was edited again and again. */
function labelEvents(projectId: string): Readonly<{ stream: string; events: readonly AnyEvent[] }> {
  const [labelId, userId] = [randomUUID(), randomUUID()];
  const at = "2026-01-02T03:04:05.678Z";
  const details = (n: number) => ({ title: `label ${n}`, description: null, hexColor: "#aabbcc" });
  const created = { ...details(0), labelId, projectId, createdById: userId, createdAt: at };
  const edited = (n: number): AnyEvent => ({
    type: "LabelEdited",
    data: {
      details: details(n),
      previousDetails: details(n - 1),
      editedById: userId,
      editedAt: at,
    },
  });
  const edits = Array.from({ length: few - 1 }, (_, n) => edited(n + 1));
  return {
    stream: `label-${labelId}`,
    events: [{ type: "LabelCreated", data: created }, ...edits],
  };
}
