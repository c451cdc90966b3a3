import { expect } from "chai";

import { leastLongestTurnMs } from "../../support/app/longest-turn.ts";
import { news, prepared } from "../../support/git/prepared-push.ts";

describe("a push of many refs", () => {
  it("lets other requests go on while it is read and locks of its refs are looked for", async () => {
    const lines = news(20_000);
    const longest = await leastLongestTurnMs(() => prepared(lines, true, "/nothing/there"));
    expect(longest).to.be.below(150);
  }).timeout(30_000);
});
