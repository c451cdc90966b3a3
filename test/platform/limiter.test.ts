import { expect } from "chai";

import { Limiter } from "../../src/platform/limiter.ts";

describe("a limiter", () => {
  it("runs at most so many tasks at once, all of them, in order", async () => {
    const limiter = new Limiter(3);
    const started: number[] = [];
    let running = 0;
    let runningMax = 0;
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        limiter.run(async () => {
          started.push(n);
          running += 1;
          runningMax = Math.max(runningMax, running);
          await new Promise(setImmediate);
          running -= 1;
          return n * 2;
        }),
      ),
    );
    expect(runningMax).to.equal(3);
    expect(started).to.deep.equal(Array.from({ length: 20 }, (_, n) => n));
    expect(results).to.deep.equal(started.map((n) => n * 2));
  });

  it("goes on after a task that failed", async () => {
    const limiter = new Limiter(1);
    const failing = limiter.run(() => Promise.reject(new Error("broken")));
    const next = limiter.run(async () => "fine");
    await expect(failing).to.be.rejectedWith("broken");
    expect(await next).to.equal("fine");
  });
});
