import { expect } from "chai";

import { asCaller, goOnWithoutClient } from "../../src/platform/caller.ts";
import { Limit, type LimitOptions, limitFigures } from "../../src/platform/limit.ts";
import { codeOf } from "../support/app/refused.ts";

const limitOf = (options: Partial<LimitOptions> = {}) =>
  new Limit({ name: "test", total: 2, whenFull: "wait", ...options });

/** Tasks that the test ends. */
function tasks(limit: Limit) {
  const running: string[] = [];
  const ends = new Map<string, () => void>();
  const start = (caller: string, name: string): Promise<void> =>
    limit.run(
      () => {
        running.push(name);
        return new Promise<void>((resolve) => ends.set(name, resolve));
      },
      { caller },
    );
  const end = async (name: string): Promise<void> => {
    running.splice(running.indexOf(name), 1);
    ends.get(name)?.();
    await new Promise(setImmediate);
  };
  return { running, start, end };
}

describe("a limit", () => {
  it("runs at most so many tasks at once, all of them, in order", async () => {
    const limit = limitOf({ total: 3 });
    const started: number[] = [];
    let running = 0;
    let runningMax = 0;
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        limit.run(async () => {
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

  it("has room again after tasks that fail, at once or later", async () => {
    const limit = limitOf({ share: 1 });
    const failing = Array.from({ length: 8 }, (_, index) =>
      limit.run(
        () => {
          if (index % 2 === 0) throw new Error("failed at once");
          return Promise.reject(new Error("failed later"));
        },
        { caller: "anna" },
      ),
    );
    for (const { status } of await Promise.allSettled(failing)) expect(status).to.equal("rejected");
    for (const caller of ["anna", "bob"]) {
      expect(await limit.run(() => caller, { caller })).to.equal(caller);
    }
    expect(limit.inUse).to.equal(0);
  });

  it("prefers the caller that holds least, and starts tasks of one caller in their order", async () => {
    const { running, start, end } = tasks(limitOf({ total: 4, share: 2 }));
    const all = ["a1", "a2", "a3", "a4"].map((name) => start("anna", name));
    all.push(...["b1", "b2", "b3"].map((name) => start("bob", name)), start("eve", "e1"));
    await new Promise(setImmediate);
    expect(running).to.deep.equal(["a1", "a2", "b1", "b2"]);
    await end("a2");
    expect(running).to.deep.equal(["a1", "b1", "b2", "e1"]);
    await end("b1");
    expect(running.at(-1)).to.equal("a3");
    for (const name of ["a1", "e1", "b2", "a3", "b3", "a4"]) await end(name);
    await Promise.all(all);
  });

  it("refuses who finds no room, and no other caller", () => {
    const limit = limitOf({ total: 3, share: 2, whenFull: "refuse" });
    const take = (caller: string) => asCaller(caller, () => limit.take());
    const { leave } = take("anna");
    take("anna");
    expect(codeOf(() => take("anna"))).to.equal("service.busy");
    take("bob");
    expect(codeOf(() => take("bob"))).to.equal("service.busy");
    leave();
    leave();
    take("bob");
    expect(codeOf(() => take("carl"))).to.equal("service.busy");
  });

  it("refuses callers that wait for too long, and those of whom too many wait", async () => {
    const limit = limitOf({ share: 1, whenFull: { refuseAfterMs: 20 }, waitersShare: 1 });
    await limit.enter({ caller: "anna" });
    const waiting = limit.enter({ caller: "anna" });
    await expect(limit.enter({ caller: "anna" })).to.be.rejectedWith("Too many");
    await limit.enter({ caller: "bob" });
    await expect(waiting).to.be.rejectedWith("Too many");
  });

  it("counts bytes that grow to the caller that took them", () => {
    const limit = limitOf({ total: 100, share: 60, whenFull: "refuse" });
    const takeAs = (caller: string, bytes: number) => asCaller(caller, () => limit.take(bytes));
    const anna = takeAs("anna", 50);
    anna.reach(40);
    expect(anna.amount).to.equal(50);
    expect(codeOf(() => takeAs("anna", 11))).to.equal("service.busy");
    const bob = takeAs("bob", 40);
    expect(codeOf(() => asCaller("bob", () => anna.reach(61)))).to.equal("service.busy");
    anna.reach(60);
    expect(codeOf(() => bob.reach(41))).to.equal("service.busy");
    expect(codeOf(() => limit.take(1))).to.equal("service.busy");
  });

  it("takes back what was more than there is, once", () => {
    const limit = limitOf({ total: 100, share: 60, whenFull: "refuse" });
    const takeAs = (caller: string, bytes: number) => asCaller(caller, () => limit.take(bytes));
    const hold = takeAs("anna", 10);
    hold.set(200);
    expect(codeOf(() => takeAs("bob", 1))).to.equal("service.busy");
    hold.leave();
    hold.leave();
    hold.reach(50);
    hold.set(50);
    takeAs("anna", 60);
    takeAs("bob", 40);
    expect(codeOf(() => takeAs("carl", 1))).to.equal("service.busy");
  });

  it("shows what is in use, who waits and how many were refused", async () => {
    const limit = limitOf({ name: "test figures", total: 1, share: 1, waitersMax: 1 });
    const { leave } = await limit.enter({ caller: "anna" });
    const next = limit.enter({ caller: "anna" });
    await expect(limit.enter({ caller: "bob" })).to.be.rejectedWith("Too many");
    const figures = () => limitFigures().find(({ name }) => name === "test figures");
    expect(figures()).to.deep.include({ inUse: 1, waiting: 1, refused: 1 });
    leave();
    (await next).leave();
    expect(figures()).to.deep.include({ inUse: 0, waiting: 0, refused: 1 });
  });
});

describe("a caller whose client has gone", () => {
  const gone = new AbortController();
  gone.abort(new Error("gone"));

  function waitAs(limit: Limit, client: AbortSignal, before: () => void = () => undefined) {
    return asCaller(
      "anna",
      () => {
        before();
        return limit.enter();
      },
      () => client,
    );
  }

  it("leaves the queue at once, and takes no turn", async () => {
    const limit = limitOf({ total: 1 });
    const { leave } = await limit.enter({ caller: "bob" });
    const leaving = new AbortController();
    const waiting = waitAs(limit, leaving.signal);
    expect(limit.waiting("anna")).to.equal(1);
    leaving.abort(new Error("gone"));
    await expect(waiting).to.be.rejectedWith("gone");
    expect(limit.waiting("anna")).to.equal(0);
    await expect(waitAs(limit, gone.signal)).to.be.rejectedWith("gone");
    leave();
    expect(limit.inUse).to.equal(0);
  });

  it("keeps the turn for what others wait for, and for what has begun to write", async () => {
    const shared = limitOf({ keepsTurn: true });
    expect((await waitAs(shared, gone.signal)).amount).to.equal(1);
    const own = limitOf();
    const nested = () => asCaller("bob", () => own.enter());
    await expect(asCaller("anna", nested, () => gone.signal)).to.be.rejectedWith("gone");
    expect((await waitAs(own, gone.signal, goOnWithoutClient)).amount).to.equal(1);
  });
});
