import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";

import { startTestApp, type TestUser } from "../../../support/app/app.ts";
import { newKey, registerKey } from "../../../support/client/ssh.ts";
import { git, temporaryDirectory, tryGit, workingCopy } from "../../../support/git/git.ts";
import { needsProgram } from "../../../support/process/program.ts";

const app = await startTestApp();
const parent = await temporaryDirectory();
const root = await app.givenUser("root", { admin: true });
const anna = await app.givenUser("anna");
const bob = await app.givenUser("bob");
await app.givenProject(anna, "project", { private: false });
const copy = await workingCopy(parent, "copy");
const annasKey = await newKey(parent, "anna-signs");
const bobsKey = await newKey(parent, "bob-signs", ["ecdsa", 256]);
const annasKeyId = await registerKey(app, anna, annasKey);
await registerKey(app, bob, bobsKey);

const run = promisify(execFile);
const gnupg = path.join(parent, "gnupg");
const gpgEnvironment = { PATH: process.env["PATH"] ?? "", GNUPGHOME: gnupg, HOME: parent };
const gpg = async (...args: string[]) =>
  (await run("gpg", ["--batch", "--quiet", "--no-tty", ...args], { env: gpgEnvironment })).stdout;

let files = 0;
/** Commits as the given committer with git's signing settings, and pushes it. */
async function signed(settings: readonly string[], committer = "anna"): Promise<string> {
  files += 1;
  await writeFile(path.join(copy, "a.txt"), `${files}\n`);
  await git(copy, "add", "--all");
  const as = settings.flatMap((setting) => ["-c", setting]);
  const environment = {
    GNUPGHOME: gnupg,
    GIT_COMMITTER_EMAIL: `${committer}@example.org`,
    GIT_AUTHOR_EMAIL: "somebody@example.org",
  };
  const sign = settings.length > 0 ? ["-S"] : [];
  const made = await tryGit(copy, [...as, "commit", ...sign, "-qm", `No ${files}`], environment);
  if (made.exitCode !== 0) throw new Error(made.stderr);
  return pushed(await git(copy, "rev-parse", "HEAD"));
}

async function pushed(id: string): Promise<string> {
  const url = `${app.url.replace("//", `//anna:${anna.token}@`)}/project/anna/project.git`;
  await git(copy, "push", "-qf", url, `${id}:refs/heads/main`);
  return id;
}

const bySsh = (file: string) => ["gpg.format=ssh", `user.signingKey=${file}.pub`];
const verification = async (id: string) => {
  const { body } = await app.get(`/project/anna/project/commit/${id}`, { token: anna.token });
  return body["verificationResult"] as { verified: boolean; comment: string; keyId: string };
};
const fingerprintOf = async (file: string) =>
  (await run("ssh-keygen", ["-lf", `${file}.pub`])).stdout.split(" ")[1];

describe("a commit signed by SSH", () => {
  needsProgram("ssh-keygen");

  it("is verified by a key of the account that has the committer's address", async () => {
    const id = await signed(bySsh(annasKey));
    const expected = { verified: true, keyId: await fingerprintOf(annasKey) };
    expect(await verification(id)).to.include(expected);
    const { body } = await app.get("/project/anna/project/commits?size=1", { token: anna.token });
    expect(JSON.stringify(body)).to.contain('"verified":true');
  });

  it("is not verified when the key or the address is another account's or no account's", async () => {
    const stranger = await newKey(parent, "stranger");
    for (const [file, committer, comment] of [
      [bobsKey, "anna", "not registered with the committer's account"],
      [stranger, "anna", "registered with no account"],
      [annasKey, "bob", "not registered with the committer's account"],
      [annasKey, "nobody", "No account has proved"],
    ] as const) {
      const result = await verification(await signed(bySsh(file), committer));
      expect(result.verified, comment).to.equal(false);
      expect(result.comment).to.contain(comment);
      expect(result.keyId).to.equal(await fingerprintOf(file));
    }
  });

  it("is not, when something in it was changed afterwards", async () => {
    const id = await signed(bySsh(annasKey));
    const text = await git(copy, "cat-file", "commit", id);
    const forged = path.join(copy, ".git", "forged");
    await writeFile(forged, `${text.replace(/No \d+$/, "Forged")}\n`);
    const changed = await pushed(await git(copy, "hash-object", "-t", "commit", "-w", forged));
    const result = await verification(changed);
    expect(result).to.include({
      verified: false,
      comment: "The signature does not fit the commit.",
    });
    await git(copy, "reset", "-q", "--hard", id);
  });

  it("is nobody's while the address is only claimed, and once the account is forgotten", async () => {
    const id = await signed(bySsh(annasKey));
    const users = () => app.platform.db("app_user").where({ id: anna.id });
    for (const [change, back] of [
      [{ is_confirmed: false }, { is_confirmed: true }],
      [{ forgotten_at: new Date() }, { forgotten_at: null }],
    ] as const) {
      await users().update(change);
      const { body } = await app.get(`/project/anna/project/commit/${id}`, { token: bob.token });
      await users().update(back);
      expect(body["user"]).to.equal(null);
      expect(JSON.stringify(body["verificationResult"])).to.contain("No account has proved");
    }
    expect((await verification(id)).verified).to.equal(true);
  });

  it("is not verified by an address that a setting confirmed and nobody proved", async () => {
    const id = await signed(bySsh(annasKey));
    const address = async (email: string) => {
      const changed = await app.put("/user/change-email", { token: anna.token, body: { email } });
      expect(changed.status, changed.text).to.equal(200);
    };
    const row = await app.platform.db("app_user").where({ id: anna.id }).first("email");
    await address("elsewhere@example.org");
    await address(String(row?.["email"]));
    expect(await verification(id)).to.include({
      verified: false,
      comment: "No account has proved the committer's address.",
    });
    await app.platform.db("app_user").where({ id: anna.id }).update({ is_email_proved: true });
    expect((await verification(id)).verified).to.equal(true);
  });

  it("follows the account: blocked, key expired, key deleted", async () => {
    const id = await signed(bySsh(annasKey));
    expect((await verification(id)).verified).to.equal(true);
    await blocked(anna, async () => {
      const at = `/project/anna/project/commit/${id}`;
      const { body } = await app.get(at, { token: bob.token });
      expect(body["verificationResult"]).to.include({ verified: false });
      expect(JSON.stringify(body["verificationResult"])).to.contain("blocked");
    });
    await app.platform
      .db("ssh_key")
      .where({ id: annasKeyId })
      .update({ expires_at: new Date(1) });
    expect((await verification(id)).comment).to.contain("expired");
    await app.platform.db("ssh_key").where({ id: annasKeyId }).update({ expires_at: null });
    expect((await verification(id)).verified).to.equal(true);
    await app.delete(`/user/settings/ssh-key/${annasKeyId}`, { token: anna.token });
    expect((await verification(id)).comment).to.contain("registered with no account");
  });

  it("is not verified when it is not signed", async () => {
    expect(await verification(await signed([]))).to.deep.equal({
      verified: false,
      comment: "The commit is not signed.",
      keyId: "",
    });
  });
});

async function blocked(user: TestUser, check: () => Promise<void>): Promise<void> {
  const account = `/admin/user/${user.id}/account`;
  await app.post(`${account}/ban`, { token: root.token });
  await check();
  await app.post(`${account}/unban`, { token: root.token });
}

const add = (token: string, publicKey: string) =>
  app.post("/user/settings/gpg-key", { token, body: { publicKey, title: "laptop" } });
const keysOf = async (token: string) => {
  const { body } = await app.get("/user/settings/gpg-key", { token });
  return (body["_embedded"] as { gpgKeyList: Record<string, unknown>[] }).gpgKeyList;
};

describe("a GPG key", () => {
  const hasGpg = needsProgram("gpg", "gpg-agent");
  before(async () => {
    await mkdir(gnupg, { mode: 0o700 });
    const make = ["--passphrase", "", "--quick-gen-key"];
    await gpg(...make, "Anna <anna@example.org>", "ed25519", "sign", "never");
    await gpg(...make, "Other <other@example.org>", "ed25519", "sign", "never");
  });
  if (hasGpg) after(() => run("gpgconf", ["--kill", "gpg-agent"], { env: gpgEnvironment }));

  it("vouches for the commits it signed while it is there", async () => {
    const id = await signed(["gpg.format=openpgp", "user.signingKey=anna@example.org"]);
    expect((await verification(id)).comment).to.contain("no GPG key");
    const armoured = await gpg("--armor", "--export", "anna@example.org");
    const { status, body, text } = await add(anna.token, armoured);
    expect(status, text).to.equal(200);
    expect(body["fingerprint"]).to.match(/^[0-9A-F]{40}$/);
    const result = await verification(id);
    expect(result).to.deep.equal({
      verified: true,
      comment: "Signed with a key of the committer's account.",
      keyId: body["fingerprint"],
    });

    const other = await signed(["gpg.format=openpgp", "user.signingKey=other@example.org"]);
    const unknown = await verification(other);
    expect(unknown.verified).to.equal(false);
    expect(unknown.comment).to.contain("not registered");
    expect(await keysOf(anna.token)).to.have.length(1);
    await app.delete(`/user/settings/gpg-key/${body["uuid"]}`, { token: anna.token });
    expect((await verification(id)).verified).to.equal(false);
    expect(await keysOf(anna.token)).to.deep.equal([]);
  });

  it("belongs to one account, is public, single and usable, and is kept sealed in the log", async () => {
    const armoured = await gpg("--armor", "--export", "anna@example.org");
    const { body } = await add(anna.token, armoured);
    expect((await add(bob.token, armoured)).body).to.include({
      status: 422,
      code: "gpg_key.taken",
    });
    const foreign = `/user/settings/gpg-key/${body["uuid"]}`;
    expect((await app.delete(foreign, { token: bob.token })).status).to.equal(404);

    const secret = await gpg("--armor", "--export-secret-keys", "other@example.org");
    const both = await gpg("--armor", "--export");
    const old = ["--faked-system-time", "20200101T000000!", "--passphrase", ""];
    await gpg(...old, "--quick-gen-key", "Old <old@example.org>", "ed25519", "sign", "1d");
    const expired = await gpg("--armor", "--export", "old@example.org");
    for (const [text, code] of [
      ["hello", "gpg_key.invalid"],
      [secret, "gpg_key.invalid"],
      [both, "gpg_key.invalid"],
      [expired, "gpg_key.unusable"],
      [armoured.replace(/\n[A-Za-z0-9+/]{20}/, "\nAAAAAAAAAAAAAAAAAAAA"), "gpg_key.invalid"],
      ["x".repeat(100_000), "request.invalid"],
    ] as const) {
      const head = await app.head();
      const answer = await add(bob.token, text);
      expect(answer.body, text.slice(0, 40)).to.include({ status: 422, code });
      expect(await app.head()).to.equal(head);
    }
    let log = "";
    for await (const { data } of app.platform.store.readStream(`gpgKeyRing-${anna.id}`)) {
      log += JSON.stringify(data);
    }
    expect(log).not.to.match(/BEGIN PGP|anna@|laptop/);
  });
});
