import { EventEmitter } from "node:events";
import { setImmediate } from "node:timers/promises";
import { expect } from "chai";

import {
  asOperation,
  bindOperation,
  completeOperation,
  showOperationsIn,
} from "../../../src/platform/event-loop/operation.ts";
import { OperationMemory } from "../../../src/platform/event-loop/operation-memory.ts";
import { Refusal } from "../../../src/platform/refusal.ts";
import { whileSuspended } from "../../support/app/suspended.ts";

const upload = { name: "upload", caller: "user-1" };

describe("the operation that the event loop runs", () => {
  const memory = new OperationMemory();
  before(() => showOperationsIn(memory));
  after(() => showOperationsIn(undefined));

  const running = () => memory.read().running;

  it("is known in what its emitter emits from outside of it, and no longer once it is over", () => {
    const body = new EventEmitter();
    const seen: unknown[] = [];
    let isOver = false;
    const bound = { ...upload, emitter: body, isOver: () => isOver };
    bindOperation(bound, () => body.on("data", () => seen.push(running())));
    expect(running()).to.equal(undefined);
    body.emit("data");
    expect(running()).to.equal(undefined);
    isOver = true;
    body.emit("data");
    expect(seen).to.deep.equal([upload, undefined]);
  });

  it("is that of the innermost, and the outer one again after it", async () => {
    await asOperation(upload, async () => {
      const inner = { name: "job-x", caller: "{}" };
      await asOperation(inner, async () => {
        await setImmediate();
        expect(running()).to.deep.equal(inner);
      });
      await setImmediate();
      expect(running()).to.deep.equal(upload);
    });
  });

  it("is refused as soon as it is known to be a suspended one", async () => {
    await whileSuspended([{ name: "createIssue", caller: "user-1" }], async () => {
      await asOperation({ name: "http", caller: "network" }, async () => {
        completeOperation({ name: "createIssue" });
        expect(running()).to.deep.equal({ name: "createIssue", caller: "network" });
        completeOperation({ caller: "user-2" });
        expect(() => completeOperation({ caller: "user-1" })).to.throw(
          Refusal,
          "suspended for you",
        );
      });
    });
  });

  it("is shown without what does not fit", () => {
    memory.show({ name: "long", caller: "é".repeat(2_000) });
    const { last } = memory.read();
    expect(last?.name).to.equal("long");
    expect(last?.caller).to.match(/^é{500,512}$/);
  });
});
