import { expect } from "chai";

import { keyedLock } from "../../src/platform/keyed-lock.ts";

describe("a lock by key", () => {
  it("runs one after another under one key, and others meanwhile", async () => {
    const lock = keyedLock();
    const seen: string[] = [];
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const first = lock("a", async () => {
      await held;
      seen.push("a1");
    });
    const second = lock("a", async () => seen.push("a2"));
    await lock("b", async () => seen.push("b1"));
    release();
    await Promise.all([first, second]);

    expect(seen).to.deep.equal(["b1", "a1", "a2"]);
  });

  it("goes on after a failure, and gives it to the one who caused it", async () => {
    const lock = keyedLock();
    const failing = lock("a", () => Promise.reject(new Error("no")));
    const next = lock("a", async () => "done");

    await expect(failing).to.be.rejectedWith("no");
    expect(await next).to.equal("done");
  });
});
