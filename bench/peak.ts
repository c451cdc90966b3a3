import { readdir, readFile, writeFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

const everyMs = 50;

/** Most that a process has held since `resetPeak`, in MiB; 0 when it is gone. See proc(5). */
export async function peakMebibytes(pid: number | string): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1024;
}

/** What a process holds now beside files that it has mapped, packs for one, in MiB. */
async function ownMebibytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return Number(/^RssAnon:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1024;
}

/** Lets the peak of a process begin at what it holds now. */
export async function resetPeak(pid: number): Promise<void> {
  await writeFile(`/proc/${pid}/clear_refs`, "5");
}

/** Watches processes, and every program of git below them: the largest of each kind, in MiB. */
export function watchMemory(pids: readonly number[]) {
  let programs = 0;
  const look = async (): Promise<void> => {
    const parents = new Map<number, number>();
    const names = new Map<number, string>();
    for (const name of await readdir("/proc")) {
      const status = /^\d+$/.test(name)
        ? await readFile(`/proc/${name}/status`, "utf8").catch(() => "")
        : "";
      const parent = /^PPid:\t(\d+)$/m.exec(status)?.[1];
      if (parent === undefined) continue;
      parents.set(Number(name), Number(parent));
      names.set(Number(name), /^Name:\t(.*)$/m.exec(status)?.[1] ?? "");
    }
    for (const [pid, name] of names) {
      let at = parents.get(pid);
      while (at !== undefined && !pids.includes(at)) at = parents.get(at);
      if (at !== undefined && name.startsWith("git")) {
        programs = Math.max(programs, await ownMebibytes(pid));
      }
    }
  };
  let watching = true;
  const ended = (async () => {
    while (watching) {
      await look();
      await delay(everyMs);
    }
  })();
  return {
    async stop(): Promise<Readonly<{ node: number; programs: number }>> {
      watching = false;
      await ended;
      const peaks = await Promise.all(pids.map(peakMebibytes));
      return { node: Math.max(...peaks), programs };
    },
  };
}
