import { expect } from "chai";
import { codeOf } from "../../support/app/answer.ts";
import { startTestApp } from "../../support/app/app.ts";

const app = await startTestApp({ visibleWaitMaxMs: 3_000 });

describe("a GET at a time, while the read models are behind", () => {
  it("is not refused as a change that was made", async () => {
    const anna = await app.givenUser("anna");
    await app.givenProject(anna, "search");
    const position = await app.head();
    // Only the last position is not known to be shown.
    const beyond = 2n ** 62n;
    const { head } = app.deps.store;
    Object.assign(app.deps.store, { head: async () => beyond });
    const answer = await app.get(`/project/anna/search?asOf=${position}`, { token: anna.token });
    Object.assign(app.deps.store, { head });
    expect(codeOf(answer)).to.deep.equal([503, "projection.lagging"]);
    expect(answer.body["message"]).to.match(/^What happened last does not show yet/);
  });
});
