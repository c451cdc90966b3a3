import { expect } from "chai";
import { Secret, TOTP } from "otpauth";
import type { TestApp, TestUser } from "./app.ts";
import { basicAuth } from "./basic-auth.ts";

/** An authenticator app. */
export const codeAt = (secret: string, timestamp = Date.now()): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp });

/** A code that differs from those that count now. */
export function wrongCode(secret: string): string {
  const near = [-60, -30, 0, 30, 60].map((s) => codeAt(secret, Date.now() + s * 1_000));
  return ["000000", "111111", "222222", "333333", "444444", "555555"].find(
    (code) => !near.includes(code),
  ) as string;
}

export const basicOf = ({ alias, password }: Pick<TestUser, "alias" | "password">) => ({
  authorization: basicAuth(alias, password),
});

export async function allowTwoFactor(app: TestApp, token: string, enableTwoFactor = true) {
  const answer = await app.post("/admin/settings/2factor", { token, body: { enableTwoFactor } });
  expect(answer.status, answer.text).to.equal(200);
}

/** Everybody's used steps are forgotten, so that a test need not wait for the next half minute. */
export const nextStep = (app: TestApp) => app.deps.db("public.otp_step").delete();

export async function enrolled(app: TestApp, user: TestUser) {
  const { token, password } = user;
  const path = "/user/settings/two-factor";
  const begun = await app.post(path, { token, body: { password } });
  expect(begun.status, begun.text).to.equal(200);
  const secret = String(begun.body["secret"]);
  const done = await app.post(`${path}/enable`, { token, body: { code: codeAt(secret) } });
  expect(done.status, done.text).to.equal(200);
  await nextStep(app);
  return { secret, recoveryCodes: done.body["recoveryCodes"] as string[] };
}
