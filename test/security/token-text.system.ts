import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";

import { basicAuth } from "../support/app/basic-auth.ts";
import { runProgram, type Service, startService } from "../support/app/service.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../support/git/git.ts";

/** Token texts and passwords are nowhere in what the service writes, whatever happens to them. */

const password = "a password of the first administrator";
const webhookSecret = "a secret of a webhook, thirty-odd characters";

describe("a running service", function () {
  this.timeout(240_000);
  let service: Service;
  let dataDir: string;
  const secrets = new Map<string, string>([
    ["the password", password],
    ["the webhook's secret", webhookSecret],
  ]);

  before(async () => {
    dataDir = await mkdtemp(path.join(tmpdir(), "ledgerforge-secrets-"));
    service = await startService(dataDir, { ADMIN_PASSWORD: password, LOG_LEVEL: "trace" });
  });
  after(async () => {
    await service.stop();
    await rm(dataDir, { recursive: true, force: true });
  });

  const basic = (secret: string) => basicAuth("admin", secret);
  const send = async (method: string, at: string, authorization: string, body?: unknown) => {
    const answer = await fetch(service.url + at, {
      method,
      headers: { authorization, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: answer.status, text: await answer.text() };
  };
  const token = async (name: string, kind = "access", scopes: readonly string[] = all) => {
    const at = `/user/settings/${kind}-token/create`;
    const credentials =
      kind === "access" ? basic(password) : `token ${secrets.get("the access token")}`;
    const { text } = await send("POST", at, credentials, { name, scopes });
    return String(JSON.parse(text).token);
  };
  const all = ["USER_READ", "USER_WRITE", "PROJECT_READ", "PROJECT_WRITE", "PROJECT_EDIT"];

  it("is used with tokens in every way, right and wrong", async () => {
    const access = await token("laptop");
    secrets.set("the access token", access);
    secrets.set("the transport token", await token("registry", "transport", ["READ_REGISTRY"]));
    secrets.set("the revoked token", await token("revoked"));
    expect(access).to.match(/^lfat_/);
    const authorization = `token ${access}`;

    await send("DELETE", "/user/settings/access-token/revoked", authorization);
    await send("GET", "/user/me", `Bearer ${secrets.get("the revoked token")}`);
    await send("GET", `/user/me?token=${access}&access_token=${access}`, "");
    await send("GET", `/nowhere/${"x"}?token=${access}`, authorization);
    await send("POST", "/user/settings/access-token/create", basic(access), { name: "x" });
    await send("POST", "/project", authorization, { title: { token: "not a text" }, alias: 5 });
    const body = { title: "One", alias: "one", isPrivate: true, ownerAlias: "admin" };
    await send("POST", "/project", authorization, {
      ...body,
      ownerAliasType: "USER",
      language: "Go",
    });
    const hook = { url: "http://127.0.0.1:9/x", secret: webhookSecret, events: {} };
    await send("POST", "/project/admin/one/setting/webhook", authorization, hook);

    const copy = await workingCopy(await temporaryDirectory(), "copy");
    await commit(copy, "One", { "a.txt": "a" });
    const remote = new URL("/project/admin/one.git", service.url);
    Object.assign(remote, { username: "admin", password: access });
    await git(copy, "push", "--quiet", remote.href, "main");
    expect((await send("GET", "/user/me", authorization)).status).to.equal(200);
  });

  /** Base64 as well: that is how Basic carries it. */
  const forms = (secret: string) => [
    secret,
    Buffer.from(`admin:${secret}`).toString("base64").replace(/=+$/, "").slice(0, -2),
  ];
  const expectNone = (where: string, text: string) => {
    for (const [name, secret] of secrets) {
      for (const form of forms(secret)) {
        expect(text.includes(form), `${name} in ${where}`).to.equal(false);
      }
    }
  };

  it("writes none of them into logs, metrics or events", async () => {
    expectNone("the output", service.output());
    const log = await readFile(path.join(dataDir, "log", "http.log"), "utf8");
    expect(log).to.match(/"operationId":"getOwnUser"/);
    expectNone("the log", log);
    const metrics = await send("GET", "/metrics", `token ${secrets.get("the access token")}`);
    expect(metrics.text).to.contain("# TYPE");
    expectNone("the metrics", metrics.text);

    const events = runProgram(["events", "export"], { DATA_DIR: dataDir });
    expect((await events.exited)[0]).to.equal(0);
    expect(events.output()).to.contain("AccessTokenCreated");
    expectNone("the events", events.output());
    const audit = runProgram(["audit", "--json"], { DATA_DIR: dataDir });
    await audit.exited;
    expectNone("the audit trail", audit.output());
  });

  it("keeps none of them in its directory, the database's files included", async () => {
    expect(await service.stop()).to.equal(0);
    const entries = await readdir(dataDir, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile());
    expect(files.length).to.be.greaterThan(500);
    expect(await readdir(path.join(dataDir, "repositories"))).not.to.deep.equal([]);
    for (const { parentPath, name } of files) {
      const file = path.join(parentPath, name);
      expectNone(file, (await readFile(file)).toString("latin1"));
    }
  });
});
