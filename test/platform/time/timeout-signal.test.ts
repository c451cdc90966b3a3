import { once } from "node:events";
import { setTimeout as delay, setImmediate as turn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect } from "chai";

import { timeoutSignal } from "../../../src/platform/time/timeout-signal.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

describe("the signal of a timeout", () => {
  it("aborts what it is a part of, though nothing else refers to it", async () => {
    const others = [new AbortController(), new AbortController()] as const;
    const part = () => AbortSignal.any([others[0].signal, timeoutSignal(300)]);
    const whole = AbortSignal.any([part(), others[1].signal]);
    const aborted = once(whole, "abort").then(() => "aborted");
    await turn();
    collectGarbage();
    expect(await Promise.race([aborted, delay(5_000)])).to.equal("aborted");
    expect((whole.reason as DOMException).name).to.equal("TimeoutError");
  });
});
