import { expect } from "chai";

import { asCaller, currentCaller } from "../../../src/platform/caller.ts";
import { TooComplex } from "../../../src/platform/parser/refusal.ts";
import { eventually } from "../../support/app/eventually.ts";
import { errorOf, taskOf } from "../../support/parser/task.ts";

type Doubled = Readonly<{ doubled: number; pid: number }>;

const task = taskOf();
const double = async (number: number): Promise<Doubled> =>
  (await task.run({ kind: "double", number })) as Doubled;

describe("a task in a process", () => {
  it("answers, and its process takes the next task", async () => {
    const first = await asCaller("anna", () => double(2));
    const second = await asCaller("anna", () => double(3));
    expect([first.doubled, second.doubled]).to.deep.equal([4, 6]);
    expect(first.pid).not.to.equal(process.pid);
    expect(second.pid).to.equal(first.pid);
  });

  it("gets no variable of the environment but that of its allocator", async () => {
    const { env, arguments: given } = (await task.run({ kind: "parameters" })) as {
      env: string[];
      arguments: string[];
    };
    expect(env.filter((name) => !/^(?:MALLOC_ARENA_MAX|NODE_CHANNEL_)/.test(name))).to.deep.equal(
      [],
    );
    expect(given).to.include("--max-old-space-size=256");
  });

  it("queries the service on behalf of its caller", async () => {
    const callers = new Set<string | undefined>();
    const reply = async (wanted: number) => {
      callers.add(currentCaller());
      return 10 * wanted;
    };
    const sum = asCaller("bob", () => task.run({ kind: "ask", times: 5 }, { reply }));
    expect(await sum).to.equal(100);
    expect([...callers]).to.deep.equal(["bob"]);
  });

  it("passes on what its module throws", async () => {
    expect(String(await errorOf(task.run({ kind: "throw" })))).to.contain("an entry is missing");
  });

  it("is refused at its limit of time, while others are answered", async () => {
    const endless = asCaller("anna", () => errorOf(taskOf(1_000).run({ kind: "endless" })));
    const { doubled } = await asCaller("bob", () => double(4));
    expect(doubled).to.equal(8);
    const refused = (await endless) as TooComplex;
    expect(refused).to.be.instanceOf(TooComplex);
    expect(refused).to.include({ kind: "unprocessable", code: "file.too_complex" });
    expect((await asCaller("anna", () => double(5))).doubled).to.equal(10);
  });

  it("is refused at its limit of memory", async () => {
    const error = await errorOf(task.run({ kind: "buffers" }));
    expect(error).to.be.instanceOf(TooComplex);
    expect(String(error)).to.contain("memory");
    expect((await double(1)).doubled).to.equal(2);
  });

  it("is answered when it waits for longer than it may take processors", async () => {
    const limitMs = 1_000;
    const reply = async () => {
      const askedAt = performance.now();
      await eventually(() => performance.now() > askedAt + 1.2 * limitMs);
      return 1;
    };
    expect(await taskOf(limitMs).run({ kind: "ask", times: 1 }, { reply })).to.equal(1);
  });

  it("is refused when it waits for six times as long", async () => {
    const reply = () => new Promise<never>(() => undefined);
    const error = await errorOf(taskOf(100).run({ kind: "ask", times: 1 }, { reply }));
    expect(error).to.be.instanceOf(TooComplex).and.have.property("message").that.contains("long");
  });

  it("that is short runs while long ones have all processes that they may have", async () => {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    let begun = 0;
    const reply = async () => {
      begun += 1;
      await released;
      return 1;
    };
    const long = ["anna", "bob", "carl"].map((name) =>
      asCaller(name, () => task.run({ kind: "ask", times: 1 }, { reply })),
    );
    await eventually(() => begun === 2);
    const short = taskOf(5_000).run({ kind: "double", number: 1 });
    expect(await asCaller("dora", () => short)).to.have.property("doubled", 2);
    expect(begun).to.equal(2);
    release();
    expect(await Promise.all(long)).to.deep.equal([1, 1, 1]);
  });
});
