import { expect } from "chai";
import { URI } from "otpauth";
import decodeQR from "qr/decode.js";

import { startTestApp, type TestUser } from "../../../support/app/app.ts";
import {
  allowTwoFactor,
  basicOf,
  codeAt,
  enrolled,
  wrongCode,
} from "../../../support/app/two-factor.ts";
import { browser } from "../../../support/client/browser.ts";

const app = await startTestApp();
const root = await app.givenUser("root", { admin: true });
const path = "/user/settings/two-factor";
let anna: TestUser;
let counter = 0;
beforeEach(async () => {
  counter += 1;
  anna = await app.givenUser(`anna-${counter}`);
  await allowTwoFactor(app, root.token);
});

const statusOf = async (token: string) => (await app.get(path, { token })).body;
const createToken = (user: TestUser, headers: Record<string, string> = {}) => {
  const body = { name: `token ${Math.random()}`, scopes: ["USER_READ"] };
  const all = { ...basicOf(user), ...headers };
  return app.post("/user/settings/access-token/create", { headers: all, body });
};

describe("setting up a second factor", () => {
  it("takes the password, then a code of the new secret, and gives recovery codes once", async () => {
    const { token, password } = anna;
    const begun = await app.post(path, { token, body: { password } });
    const secret = String(begun.body["secret"]);
    const address = URI.parse(String(begun.body["otpauthUrl"]));
    expect([address.issuer, address.label]).to.deep.equal(["Ledgerforge", anna.alias]);
    expect(begun.headers.get("cache-control")).to.equal("no-store");
    expect(await statusOf(token)).to.include({ enabled: false, available: true });
    expect((await createToken(anna)).status).to.equal(200);

    const wrong = await app.post(`${path}/enable`, { token, body: { code: wrongCode(secret) } });
    expect([wrong.status, wrong.body["code"]]).to.deep.equal([403, "auth.otp_wrong"]);
    const done = await app.post(`${path}/enable`, { token, body: { code: codeAt(secret) } });
    expect(done.body["recoveryCodes"]).to.have.length(10);
    expect(await statusOf(token)).to.include({ enabled: true, recoveryCodesLeft: 10 });
  });

  it("is refused with a wrong password, twice, and where it is switched off", async () => {
    const { token, password } = anna;
    const begin = (given: string) => app.post(path, { token, body: { password: given } });
    expect((await begin("a wrong password")).body["code"]).to.equal("password.wrong");
    expect((await begin("")).body["code"]).to.equal("password.wrong");
    await enrolled(app, anna);
    expect((await begin(password)).body["code"]).to.equal("two_factor.enabled");
    await allowTwoFactor(app, root.token, false);
    expect((await begin(password)).body["code"]).to.equal("two_factor.disabled");
  });

  it("keeps neither secret nor codes in the log or in the tables", async () => {
    const { secret, recoveryCodes } = await enrolled(app, anna);
    let kept = JSON.stringify(await app.deps.db("two_factor"));
    for await (const { data } of app.deps.store.readAll()) kept += JSON.stringify(data);
    for (const text of [secret, ...recoveryCodes]) {
      expect(kept).not.to.contain(text);
      expect(kept).not.to.contain(text.replaceAll("-", ""));
    }
  });

  it("is undone with a code, or by an administrator for who lost it", async () => {
    const { secret } = await enrolled(app, anna);
    const end = (code: string) =>
      app.post(`${path}/disable`, { token: anna.token, body: { code } });
    expect((await end(wrongCode(secret))).status).to.equal(403);
    expect((await end(codeAt(secret))).status).to.equal(200);
    expect((await createToken(anna)).status).to.equal(200);
    await enrolled(app, anna);
    const reset = `/admin/user/${anna.id}/two-factor`;
    expect((await app.delete(reset, { token: anna.token })).status).to.equal(403);
    expect((await app.delete(reset, { token: root.token })).status).to.equal(200);
    expect((await createToken(anna)).status).to.equal(200);
  });

  it("makes new recovery codes in the place of the old", async () => {
    const { secret, recoveryCodes } = await enrolled(app, anna);
    const body = { code: codeAt(secret) };
    const renewed = await app.post(`${path}/recovery-code`, { token: anna.token, body });
    const [fresh = ""] = renewed.body["recoveryCodes"] as string[];
    expect((await createToken(anna, { "x-otp": recoveryCodes[0] ?? "" })).status).to.equal(403);
    expect((await createToken(anna, { "x-otp": fresh })).status).to.equal(200);
  });
});

describe("a user with a second factor", () => {
  it("gets a token by Basic only with a code", async () => {
    const { secret, recoveryCodes } = await enrolled(app, anna);
    const without = await createToken(anna);
    expect([without.status, without.body["code"]]).to.deep.equal([403, "auth.otp_required"]);
    const wrong = await createToken(anna, { "x-otp": wrongCode(secret) });
    expect([wrong.status, wrong.body["code"]]).to.deep.equal([403, "auth.otp_wrong"]);
    expect((await createToken(anna, { "x-otp": codeAt(secret) })).status).to.equal(200);
    const recovery = ` ${recoveryCodes[0]?.toLowerCase()} `;
    expect((await createToken(anna, { "x-otp": recovery })).status).to.equal(200);
    expect((await statusOf(anna.token))["recoveryCodesLeft"]).to.equal(9);
  });

  it("needs no code while the administrator has it switched off, and needs one again after", async () => {
    await enrolled(app, anna);
    await allowTwoFactor(app, root.token, false);
    expect((await createToken(anna)).status).to.equal(200);
    await allowTwoFactor(app, root.token);
    expect((await createToken(anna)).body["code"]).to.equal("auth.otp_required");
  });

  it("fetches by git with a token, not with the password", async () => {
    await enrolled(app, anna);
    const project = await app.givenProject(anna, `p-${counter}`);
    const at = `/project/${anna.alias}/${project.alias}.git/info/refs?service=git-upload-pack`;
    const refused = await app.get(at, { headers: basicOf(anna) });
    expect([refused.status, refused.body["code"]]).to.deep.equal([403, "auth.otp_required"]);
    const byToken = basicOf({ ...anna, password: anna.token });
    expect((await app.get(at, { headers: byToken })).status).to.equal(200);
  });

  it("logs in on a second page, and goes on to where they wanted", async () => {
    const { secret } = await enrolled(app, anna);
    const visitor = browser(app.url);
    const first = await visitor.logIn(anna, "/console?x");
    expect([first.status, first.location]).to.deep.equal([303, "/login/code"]);
    expect((await visitor.open("/console")).status).to.equal(303);
    const page = await visitor.open("/login/code");
    const wrong = await visitor.submit(page, "/login/code", { code: wrongCode(secret) });
    expect(wrong.status).to.equal(403);
    const done = await visitor.submit(wrong, "/login/code", { code: codeAt(secret) });
    expect([done.status, done.location]).to.deep.equal([303, "/console?x"]);
    expect((await visitor.open("/console")).status).to.equal(200);
    expect([...visitor.cookies.keys()]).to.deep.equal(["ledgerforge-session"]);
  });

  it("reads the secret from the screen, from a page without scripts or anything of elsewhere", async () => {
    const visitor = browser(app.url);
    await visitor.logIn(anna);
    const start = await visitor.open("/console/two-factor");
    const at = "/console/two-factor/prepare";
    const { text, headers } = await visitor.submit(start, at, { password: anna.password });
    const address = URI.parse(decodeQR(pictureIn(text)));
    expect([address.issuer, address.label]).to.deep.equal(["Ledgerforge", anna.alias]);
    expect(text).to.contain(`<code class="secret">${address.secret.base32}<`);
    expect(text).not.to.match(/<script|style=|src=/);
    expect(headers.get("content-security-policy")).to.match(
      /^default-src 'none'; style-src 'self';/,
    );
    expect(headers.get("cache-control")).to.equal("no-store");
  });

  it("sets it up, renews and undoes it in the console", async () => {
    const visitor = browser(app.url);
    await visitor.logIn(anna);
    const at = "/console/two-factor";
    const start = await visitor.open(at);
    const wrong = await visitor.submit(start, `${at}/prepare`, { password: "a wrong one" });
    expect(wrong.status).to.equal(422);
    const begun = await visitor.submit(wrong, `${at}/prepare`, { password: anna.password });
    const secret = /<code class="secret">([A-Z2-7]+)</.exec(begun.text)?.[1] ?? "";
    const code = codeAt(secret);
    const codes = await visitor.submit(begun, `${at}/enable`, { code });
    // The code is spent, and a double click shows the answer of its second sending.
    const again = await visitor.submit(begun, `${at}/enable`, { code });
    expect([again.status, again.text]).to.deep.equal([200, codes.text]);
    const [, recovery = ""] = /<li><code>([^<]+)</.exec(codes.text) ?? [];
    expect((await visitor.open(at)).text).to.contain("Recovery codes left: 10");
    const page = await visitor.open(at);
    expect((await visitor.submit(page, `${at}/disable`, { code: recovery })).status).to.equal(303);
    expect((await createToken(anna)).status).to.equal(200);
  });
});

/** The QR code of a page as a camera sees it. */
function pictureIn(page: string) {
  const scale = 4;
  const [, side = "", path = ""] =
    /viewBox="0 0 (\d+) \d+"[^>]*><path d="([^"]*)"/.exec(page) ?? [];
  const width = Number(side) * scale;
  const data = new Uint8Array(width * width * 4).fill(255);
  for (const [, x = "", y = "", run = ""] of path.matchAll(/M(\d+) (\d+)h(\d+)v1h-\d+z/g)) {
    for (let row = Number(y) * scale; row < (Number(y) + 1) * scale; row += 1) {
      const from = (row * width + Number(x) * scale) * 4;
      data.fill(0, from, from + Number(run) * scale * 4);
    }
  }
  return { width, height: width, data };
}
