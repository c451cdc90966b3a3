import { randomUUID } from "node:crypto";

import type { EventStore } from "../src/platform/event-store/event-store.ts";
import { metadataFor } from "../test/support/app/history.ts";
import { figure, median, timed } from "./figure.ts";
import { withStoresOf } from "./inside.ts";
import { withService } from "./service.ts";
import { settled } from "./settled.ts";

/**
 * How long a team waits until its rule is in force in all of its projects: at first, when each gets a rule, and again,
 * when the rule of each changes. Held against a team with one project in the same run. The projects are events alone,
 * without repositories. `node --import tsx bench/rule-apply.ts [projects] [rounds]`
 */
const projects = Number(process.argv[2] ?? 10_000);
const rounds = Number(process.argv[3] ?? 7);
const atOnce = 100;
const teams = { one: 1, many: projects } as const;
type Name = keyof typeof teams;
const names = ["one", "many"] as const;

await withService(async ({ service, password }) => {
  const sender = (authorization: string) => async (method: string, path: string, body?: object) => {
    const headers = { authorization, "content-type": "application/json" };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(service.url + path, { method, headers, ...sent });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
    return (text === "" ? {} : JSON.parse(text)) as Readonly<Record<string, unknown>>;
  };
  const byPassword = sender(`Basic ${Buffer.from(`bench:${password}`).toString("base64")}`);
  const wanted = { name: "teams", scopes: ["TEAM_READ", "TEAM_WRITE"] };
  const { token } = await byPassword("POST", "/user/settings/access-token/create", wanted);
  const send = sender(`token ${token}`);

  for (const name of names) {
    await send("POST", "/team", { alias: name, title: name, ownerAlias: "bench" });
    const { id } = await send("GET", `/team/${name}`);
    await withStoresOf(service, ({ store }) => makeProjects(store, String(id), teams[name]));
  }
  await settled(service);

  const rules = new Map<Name, unknown>();
  const path = (name: Name) => `/team/${name}/tag-protection`;
  for (const name of names) {
    const rule = { tagTemplate: "v*", allowToCreate: "ADMINS" };
    rules.set(name, (await send("POST", `${path(name)}/create`, rule))["uuid"]);
  }
  const apply = (name: Name) =>
    timed(() => send("POST", `${path(name)}/apply-settings-to-projects`));
  const first = { one: await apply("one"), many: await apply("many") };
  const again = { one: [] as number[], many: [] as number[] };
  for (let round = 0; round < rounds; round += 1) {
    for (const name of names) {
      const allowToCreate = round % 2 === 0 ? "DEVELOPER" : "ADMINS";
      await send("PATCH", `${path(name)}/edit`, { uuid: rules.get(name), allowToCreate });
      again[name].push(await apply(name));
    }
  }
  const baseline = (value: number) => ({ name: "one project", value });
  figure(`new rule, ${projects} projects`, "ms", first.many, baseline(first.one));
  const changed = median(again.many);
  figure(`changed rule, ${projects} projects`, "ms", changed, baseline(median(again.one)));
});

async function makeProjects(store: EventStore, ownerId: string, count: number): Promise<void> {
  const waiting = Array.from({ length: count }, (_, n) => n);
  const makeNext = async (): Promise<void> => {
    for (let n = waiting.pop(); n !== undefined; n = waiting.pop()) {
      const [projectId, id] = [randomUUID(), randomUUID()];
      const named = { alias: `project-${n}`, title: `Project ${n}`, description: null };
      const owned = { ownerId, ownerType: "TEAM", language: null, private: true };
      const made = { createdById: randomUUID(), createdAt: "2026-01-02T03:04:05.678Z" };
      const data = { projectId, ...named, ...owned, defaultBranch: "main", ...made };
      const event = { type: "ProjectCreated", id, data, metadata: metadataFor(id) };
      await store.append(`project-${projectId}`, "none", [event]);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, makeNext));
}
