import { expect } from "chai";

import { takeTurn } from "../../../src/services/pipeline/push-order.ts";

describe("the turn of a pipeline among those of its push", () => {
  it("comes once all of earlier refs have passed, also those that begin later", async () => {
    const passed: string[] = [];
    const [last, first] = [takeTurn("push", 9n), takeTurn("push", 5n)];
    const coming = last.come().then(() => passed.push("last"));
    const middle = takeTurn("push", 7n);
    await first.come();
    passed.push("first");
    first.pass();
    await middle.come();
    passed.push("middle");
    middle.pass();
    await coming;
    last.pass();
    expect(passed).to.deep.equal(["first", "middle", "last"]);
  });

  it("waits neither for later refs nor for another push, and may pass twice", async () => {
    const others = [takeTurn("push", 8n), takeTurn("another push", 1n)];
    const own = takeTurn("push", 5n);
    await own.come();
    own.pass();
    own.pass();
    const again = takeTurn("push", 6n);
    await again.come();
    for (const each of [again, ...others]) each.pass();
  });
});
