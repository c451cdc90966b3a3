import { expect } from "chai";

import { openApi, openApiInTurns } from "../../../src/http/api/openapi/openapi.ts";
import { routes } from "../../../src/http/routes.ts";
import { longestTurnMs } from "../../support/app/longest-turn.ts";

/** Anybody may request it, and the first request makes it. */
describe("making the document of the interface", () => {
  it("leaves the event loop to others in between", async () => {
    const whole = openApi(routes);
    let inTurns: unknown;
    const shares: number[] = [];
    // Collecting garbage comes in some of them.
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const before = process.cpuUsage();
      const longest = await longestTurnMs(async () => {
        inTurns = await openApiInTurns(routes);
      });
      const { user, system } = process.cpuUsage(before);
      shares.push(longest / ((user + system) / 1_000));
    }
    expect(Math.min(...shares), "share of the longest turn").to.be.lessThan(0.25);
    expect(inTurns).to.deep.equal(whole);
  }).timeout(120_000);
});
