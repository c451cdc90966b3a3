import { expect } from "chai";

import { asCaller } from "../../../src/platform/caller.ts";
import { Limit } from "../../../src/platform/limit.ts";
import {
  type Address,
  type Resolve,
  sharedResolve,
} from "../../../src/platform/outbound/resolve.ts";
import { eventually } from "../../support/app/eventually.ts";

const here = [{ address: "192.0.2.1", family: 4 }];
const there = [{ address: "192.0.2.2", family: 4 }];

function resolver(resolveMs = 5_000) {
  const lookups: Readonly<{ name: string; done: Parameters<Resolve>[1] }>[] = [];
  const time = { ms: 0 };
  const limit = new Limit({
    ...{ name: "test", total: 2, share: 1, whenFull: { refuseAfterMs: resolveMs } },
  });
  const resolve = sharedResolve((name, done) => void lookups.push({ name, done }), {
    ...{ limit, now: () => time.ms, resolveMs },
  });
  const send = (name: string) =>
    new Promise<readonly Address[]>((found, failed) =>
      resolve(name, (error, addresses) => (error === null ? found(addresses) : failed(error))),
    );
  const begun = (count: number) => eventually(() => lookups.length >= count);
  return { lookups, time, send, begun, limit };
}

describe("a shared resolver", () => {
  it("resolves a name once that many want at a time, and once for each name", async () => {
    const { lookups, send, begun } = resolver();
    const all = [send("one.test"), send("one.test"), send("two.test")];
    await begun(1);
    lookups[0]!.done(null, here);
    await begun(2);
    expect(lookups.map(({ name }) => name)).to.deep.equal(["one.test", "two.test"]);
    lookups[1]!.done(null, there);
    expect(await Promise.all(all)).to.deep.equal([here, here, there]);
  });

  it("keeps an answer for five seconds", async () => {
    const { lookups, send, time, begun } = resolver();
    const first = send("one.test");
    await begun(1);
    lookups[0]!.done(null, here);
    await first;
    time.ms = 4_999;
    expect(await send("one.test")).to.deep.equal(here);
    time.ms = 5_000;
    const later = send("one.test");
    await begun(2);
    lookups[1]!.done(null, there);
    expect(await later).to.deep.equal(there);
  });

  it("reports a failure to all who wait for it, and resolves again after ten seconds", async () => {
    const { lookups, send, time, begun } = resolver();
    const both = Promise.allSettled([send("one.test"), send("one.test")]);
    await begun(1);
    lookups[0]!.done(new Error("no such name"), []);
    expect((await both).map(({ status }) => status)).to.deep.equal(["rejected", "rejected"]);
    time.ms = 9_999;
    await expect(send("one.test")).to.be.rejectedWith("no such name");
    time.ms = 10_000;
    const again = send("one.test");
    await begun(2);
    lookups[1]!.done(null, here);
    expect(await again).to.deep.equal(here);
  });

  it("leaves threads to other callers while the names of one caller do not resolve", async () => {
    const { lookups, send, begun } = resolver();
    const dead = Array.from({ length: 20 }, (_, n) =>
      asCaller("anna", () => send(`never${n}.test`)).catch(() => "failed"),
    );
    await begun(1);
    const quiet = asCaller("bob", () => send("quiet.test"));
    await begun(2);
    lookups[1]!.done(null, here);
    expect(await quiet).to.deep.equal(here);
    expect(lookups.map(({ name }) => name)).to.deep.equal(["never0.test", "quiet.test"]);
    for (let n = 0; n < 20; n += 1) {
      const index = n === 0 ? 0 : n + 1;
      await begun(index + 1);
      lookups[index]!.done(new Error("gone"), []);
    }
    await Promise.all(dead);
  });

  it("fails in time, remembers that, and holds the thread until the system answers", async () => {
    const { lookups, send, begun, limit } = resolver(20);
    await expect(send("never.test")).to.be.rejectedWith("was not resolved in time");
    await eventually(async () => (await send("never.test").catch(() => "now")) === "now");
    expect([lookups.length, limit.inUse]).to.deep.equal([1, 1]);
    lookups[0]!.done(null, here);
    expect(limit.inUse).to.equal(0);
    expect(await send("never.test")).to.deep.equal(here);
    await begun(1);
  });
});
