import { expect } from "chai";

import { heldPerAgentMax, waitingFor } from "../../../../src/http/protocol/runner/queue.ts";

describe("the held requests of one agent", () => {
  it("are so many at most: the oldest is answered, and none of another agent", () => {
    const waiting = waitingFor(() => () => undefined);
    const other = waiting.hold("other");
    const held = Array.from({ length: heldPerAgentMax }, () => waiting.hold("one"));
    expect(held.some(({ over }) => over.aborted)).to.equal(false);
    const newest = waiting.hold("one");
    expect(held.map(({ over }) => over.aborted).indexOf(false)).to.equal(1);
    // What ends late takes no place from those that came since.
    for (const { release } of held) release();
    const more = Array.from({ length: heldPerAgentMax }, () => waiting.hold("one"));
    expect(newest.over.aborted).to.equal(true);
    expect([other, ...more].some(({ over }) => over.aborted)).to.equal(false);
    for (const { release } of [other, newest, ...more]) release();
  });
});
