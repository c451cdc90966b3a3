import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

/**
 * Starting a program copies the page tables of the process that starts it, those of the heap of V8 excepted: from a
 * test process of 900 MB it takes 30 times as long as from one of 50 MB, and each page written afterwards is a fault.
 * Test processes grow with each file, as the modules of test files stay loaded with what they hold. A process that has
 * grown past the limit ends between two files, and a new one takes its place.
 */
const rssMax = 550 * 1024 ** 2;
const pageSize = 4_096;

type Worker = Readonly<{ busy: () => boolean; worker?: Readonly<{ pid?: number }> }>;
type Pool = {
  workers: Worker[];
  _getWorker: () => Worker | null;
  _removeWorker: (worker: Worker) => Promise<unknown>;
};

const ofMocha = createRequire(createRequire(import.meta.url).resolve("mocha"));
const { prototype } = ofMocha("workerpool/src/Pool.js") as { prototype: Pool };
const { _getWorker: next } = prototype;

prototype._getWorker = function (this: Pool): Worker | null {
  endLarge(this, rssMax);
  return next.call(this);
};

/** Ends the idle processes of more memory than that; busy ones are seen again after their file. */
export function endLarge(pool: Pick<Pool, "workers" | "_removeWorker">, bytesMax: number): void {
  const isLarge = (of: Worker) => rssOf(of.worker?.pid) > bytesMax && !of.busy();
  for (const worker of pool.workers.filter(isLarge)) void pool._removeWorker(worker);
}

/** 0 where there is no /proc, so that processes stay. */
function rssOf(pid: number | undefined): number {
  try {
    const [, resident] = readFileSync(`/proc/${pid}/statm`, "utf8").split(" ");
    return Number(resident) * pageSize;
  } catch {
    return 0;
  }
}
