import { expect } from "chai";

import { endLarge } from "./light-workers.ts";

describe("processes of a parallel run", () => {
  const here = { pid: process.pid };
  const idle = { busy: () => false, worker: here };
  const busy = { busy: () => true, worker: here };
  const starting = { busy: () => false };

  const ended = (bytesMax: number): readonly unknown[] => {
    const removed: unknown[] = [];
    const _removeWorker = async (worker: unknown) => removed.push(worker);
    endLarge({ workers: [busy, idle, starting], _removeWorker }, bytesMax);
    return removed;
  };

  it("end between two files once they are large, where their memory can be seen", () => {
    expect(ended(1024)).to.deep.equal(process.platform === "linux" ? [idle] : []);
  });

  it("stay while they are small", () => {
    expect(ended(1024 ** 5)).to.be.empty;
  });
});
