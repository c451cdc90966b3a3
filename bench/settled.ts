import { readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

import type { Service } from "../test/support/app/service.ts";

const lookMs = 500;
const quietLooks = 4;
/**
 * Of 500 ms: what processes that wait for something take to notice that nothing comes. On virtual machines that take
 * memory away from idle processes, a wake that needs it back is charged 20 ms.
 */
const quietMs = 100;
const waitMs = 180_000;

/** Resolves when what writes have set going in the background is done: the processes of it rest. */
export async function settled(service: Service): Promise<void> {
  const resting = ["workers", "projections", "event-store"];
  const pids = await Promise.all(resting.map((role) => service.pidOf(role)));
  const used = async (): Promise<number> =>
    (await Promise.all(pids.map(processorMs))).reduce((sum, each) => sum + each, 0);
  let before = await used();
  let quiet = 0;
  for (let waited = 0; waited < waitMs; waited += lookMs) {
    await delay(lookMs);
    const now = await used();
    quiet = now - before < quietMs ? quiet + 1 : 0;
    if (quiet === quietLooks) return;
    before = now;
  }
  throw new Error("the service did not come to rest in three minutes");
}

const roles = ["http", "workers", "projections", "event-store", "postgres"] as const;

/** Milliseconds of a processor that processes of the service have had, by role, children among them. */
export async function roleMs(service: Service): Promise<ReadonlyMap<string, number>> {
  const used = roles.map(async (role) => {
    const pids = [await service.pidOf(role)];
    for (let n = 0; n < pids.length; n += 1) pids.push(...(await childrenOf(pids[n] ?? 0)));
    const each = await Promise.all(pids.map(processorMs));
    return [role, each.reduce((sum, ms) => sum + ms, 0)] as const;
  });
  return new Map(await Promise.all(used));
}

/** The same of all of them together. */
export async function serviceMs(service: Service): Promise<number> {
  return [...(await roleMs(service)).values()].reduce((sum, each) => sum + each, 0);
}

async function childrenOf(pid: number): Promise<readonly number[]> {
  const at = `/proc/${pid}/task/${pid}/children`;
  const text = await readFile(at, "utf8").catch(() => "");
  return text.split(" ").filter(Boolean).map(Number);
}

/** With children that it waited for, in hundredths of a second; proc(5). */
async function processorMs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  const fields = stat.slice(stat.lastIndexOf(") ") + 2).split(" ");
  const ticks = fields.slice(11, 15).map(Number);
  return ticks.reduce((sum, each) => sum + each, 0) * 10;
}
