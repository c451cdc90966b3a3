import { expect } from "chai";

import { cachedQuery } from "../../../src/http/core/cached-query.ts";
import { eventually } from "../../support/app/eventually.ts";

describe("a cached query", () => {
  const counting = (answer: (key: string) => string | undefined = (key) => key) => {
    const loaded: string[] = [];
    const load = async (key: string) => {
      loaded.push(key);
      return answer(key);
    };
    return { loaded, load };
  };

  it("runs once, also for concurrent reads", async () => {
    const { loaded, load } = counting();
    const memory = cachedQuery(load);
    expect(await Promise.all([memory.get("a"), memory.get("a")])).to.deep.equal(["a", "a"]);
    expect(await memory.get("a")).to.equal("a");
    expect(loaded).to.deep.equal(["a"]);
  });

  it("runs again after it found nothing", async () => {
    const { loaded, load } = counting(() => undefined);
    const memory = cachedQuery(load);
    await memory.get("a");
    await memory.get("a");
    expect(loaded).to.have.length(2);
  });

  it("runs again for a value that is not to be kept", async () => {
    const { loaded, load } = counting();
    const memory = cachedQuery(load, { keeps: (value) => value !== "a" });
    await memory.get("a");
    await memory.get("a");
    await memory.get("b");
    await memory.get("b");
    expect(loaded).to.deep.equal(["a", "a", "b"]);
  });

  it("forgets one key or all", async () => {
    const { loaded, load } = counting();
    const memory = cachedQuery(load);
    const all = () => Promise.all([memory.get("a"), memory.get("b")]);
    await all();
    memory.forget((value) => value === "a");
    await all();
    expect(loaded).to.deep.equal(["a", "b", "a"]);
    memory.forget();
    await all();
    expect(loaded).to.have.length(5);
  });

  it("never answers what was read before a change", async () => {
    let current = "old";
    const gates: (() => void)[] = [];
    const memory = cachedQuery(async () => {
      const read = current;
      await new Promise<void>((resolve) => gates.push(resolve));
      return read;
    });
    const early = memory.get("a");
    current = "new";
    memory.forget();
    const late = memory.get("a");
    // The one that read what was before comes last.
    gates[1]!();
    expect(await late).to.equal("new");
    gates[0]!();
    expect(await early).to.equal("old");
    expect(await memory.get("a")).to.equal("new");
  });

  it("keeps values for a limited time, and a limited number of them", async () => {
    const { loaded, load } = counting();
    const small = cachedQuery(load, { lifeMs: 60_000, entriesMax: 2 });
    for (const key of ["a", "b", "c", "c"]) await small.get(key);
    expect(loaded).to.deep.equal(["a", "b", "c"]);
    const short = cachedQuery(load, { lifeMs: 30, entriesMax: 2 });
    await eventually(async () => {
      await short.get("d");
      return loaded.length > 4;
    }, 30_000);
  });

  it("does not keep errors", async () => {
    let fails = true;
    const memory = cachedQuery(async () => {
      if (fails) throw new Error("down");
      return "up";
    });
    await expect(memory.get("a")).to.be.rejectedWith("down");
    fails = false;
    expect(await memory.get("a")).to.equal("up");
  });
});
