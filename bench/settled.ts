import { readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

import type { Service } from "../test/support/service.ts";

const lookMs = 500;
const quietLooks = 4;
/** Of 500 ms: what processes that wait for something take to notice that nothing comes. */
const quietMs = 40;
const waitMs = 180_000;

/** Resolves when what writes have set going in the background is done: the processes of it rest. */
export async function settled(service: Service): Promise<void> {
  const roles = ["workers", "projections", "event-store"];
  const pids = await Promise.all(roles.map((role) => service.pidOf(role)));
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

/** Time of a processor that a process has had, in hundredths of a second; proc(5). */
async function processorMs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(") ") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
