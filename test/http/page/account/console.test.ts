import { expect } from "chai";

import { startTestApp, type TestUser } from "../../../support/app/app.ts";
import { type Browser, browser } from "../../../support/client/browser.ts";

const app = await startTestApp();
let anna: TestUser;
let visitor: Browser;
let counter = 0;

beforeEach(async () => {
  counter += 1;
  anna = await app.givenUser(`anna-${counter}`);
  visitor = browser(app.url);
  await visitor.logIn(anna);
});

const create = async (fields: Record<string, string | readonly string[]>) =>
  visitor.submit(await visitor.open("/console"), "/console/token", fields);
const secretIn = (text: string) => /<code class="secret">([^<]+)</.exec(text)?.[1];

describe("the console", () => {
  it("is where the root leads, and says who one is", async () => {
    const { status, text } = await visitor.follow("/");
    expect(status).to.equal(200);
    for (const shown of [anna.alias, `${anna.alias}@example.org`, "(this one)"]) {
      expect(text).to.contain(shown);
    }
  });

  it("makes a token that works, shows it once, and revokes it", async () => {
    const made = await create({ name: "laptop", scopes: ["USER_READ", "TEAM_READ"] });
    const token = secretIn(made.text) ?? "";
    expect((await app.get("/user/me", { token })).body["username"]).to.equal(anna.alias);
    const again = await visitor.open("/console");
    expect(again.text).to.contain("laptop").and.not.contain(token);
    await visitor.submit(again, "/console/token/revoke", { name: "laptop" });
    expect((await app.get("/user/me", { token })).status).to.equal(403);
  });

  it("says what is wrong with a new token, and makes none", async () => {
    await create({ name: "taken", scopes: "USER_READ" });
    const wrong = [
      { name: "taken", scopes: "USER_READ" },
      { name: " ", scopes: "USER_READ" },
      { name: "no scope" },
      { name: "odd scope", scopes: ["USER_READ", "ADMIN"] },
      { name: "past", scopes: "USER_READ", expiresAt: "2001-01-01" },
      { name: "no day", scopes: "USER_READ", expiresAt: "soon" },
    ];
    for (const fields of wrong) {
      const { status, text } = await create(fields);
      expect(status, JSON.stringify(fields)).to.equal(422);
      // Other refusals are pages of their own, without the account.
      expect(text).to.contain('role="alert"').and.contain('id="account"');
      expect(secretIn(text)).to.equal(undefined);
    }
  });

  it("shows names harmlessly", async () => {
    await create({ name: "<img src=x onerror=alert(1)>", scopes: "USER_READ" });
    const { text } = await visitor.open("/console");
    expect(text).to.contain("&lt;img src=x").and.not.contain("<img");
  });

  it("shows other sessions and ends them, nobody else's", async () => {
    const other = browser(app.url);
    await other.logIn(anna);
    const page = await visitor.open("/console");
    const [, end = ""] = /action="(\/console\/session\/[^"]+\/end)"/.exec(page.text) ?? [];
    const boris = browser(app.url);
    await boris.logIn(await app.givenUser(`boris-${counter}`));
    const csrf = /name="csrf" value="([^"]+)"/.exec((await boris.open("/console")).text)?.[1] ?? "";
    expect((await boris.post(end, { csrf })).status).to.equal(404);
    expect((await other.open("/console")).status).to.equal(200);

    expect((await visitor.submit(page, end)).status).to.equal(303);
    expect((await other.open("/console")).status).to.equal(303);
    expect((await visitor.open("/console")).status).to.equal(200);
  });
});
