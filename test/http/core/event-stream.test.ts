import { once } from "node:events";
import { text } from "node:stream/consumers";
import { expect } from "chai";

import { eventStream } from "../../../src/http/core/event-stream.ts";
import { Refusal } from "../../../src/platform/refusal.ts";

describe("an answer of server-sent events", () => {
  it("is given to one caller 16 times at once, and again when one was closed or read", async () => {
    async function* one(): AsyncGenerator<string> {
      yield "one";
    }
    const follow = () => eventStream(one(), "anna").body;
    const [first, second] = Array.from({ length: 16 }, follow);
    expect(follow).to.throw(Refusal).with.property("code", "live.too_many");
    expect(await text(eventStream(one(), "bob").body)).to.equal("one");
    first?.destroy();
    if (first !== undefined) await once(first, "close");
    expect(second && (await text(second))).to.equal("one");
    follow();
    follow();
    expect(follow).to.throw(Refusal);
  });
});
