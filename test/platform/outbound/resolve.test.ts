import { expect } from "chai";

import {
  type Address,
  type Resolve,
  sharedResolve,
} from "../../../src/platform/outbound/resolve.ts";

const here = [{ address: "192.0.2.1", family: 4 }];
const there = [{ address: "192.0.2.2", family: 4 }];

function resolver() {
  const lookups: Readonly<{ name: string; done: Parameters<Resolve>[1] }>[] = [];
  const time = { ms: 0 };
  const resolve = sharedResolve(
    (name, done) => void lookups.push({ name, done }),
    () => time.ms,
  );
  const ask = (name: string) =>
    new Promise<readonly Address[]>((found, failed) =>
      resolve(name, (error, addresses) => (error === null ? found(addresses) : failed(error))),
    );
  return { lookups, time, ask };
}

describe("a shared resolver", () => {
  it("resolves a name once that many want at a time, and once for each name", async () => {
    const { lookups, ask } = resolver();
    const all = [ask("one.test"), ask("one.test"), ask("two.test")];
    expect(lookups.map(({ name }) => name)).to.deep.equal(["one.test", "two.test"]);
    lookups[0]!.done(null, here);
    lookups[1]!.done(null, there);
    expect(await Promise.all(all)).to.deep.equal([here, here, there]);
  });

  it("keeps an answer for five seconds", async () => {
    const { lookups, ask, time } = resolver();
    const first = ask("one.test");
    lookups[0]!.done(null, here);
    await first;
    time.ms = 4_999;
    expect(await ask("one.test")).to.deep.equal(here);
    time.ms = 5_000;
    const later = ask("one.test");
    lookups[1]!.done(null, there);
    expect(await later).to.deep.equal(there);
  });

  it("reports a failure to all who wait for it, and resolves again after it", async () => {
    const { lookups, ask } = resolver();
    const both = Promise.allSettled([ask("one.test"), ask("one.test")]);
    lookups[0]!.done(new Error("no such name"), []);
    expect((await both).map(({ status }) => status)).to.deep.equal(["rejected", "rejected"]);
    const again = ask("one.test");
    lookups[1]!.done(null, here);
    expect(await again).to.deep.equal(here);
  });
});
