import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";

import { basicAuth } from "../support/app/basic-auth.ts";
import { eventually } from "../support/app/eventually.ts";
import { type Service, startService } from "../support/app/service.ts";
import { compiled } from "../support/compiled.ts";
import { stallText } from "../support/process/stall-on-text.ts";

const stallSeconds = 2;
const password = "a password for the stall test";
const restartMs = 120_000;
const roles = ["http", "projections", "workers", "ssh"];

describe("a service with a request that holds the event loop", function () {
  this.timeout(600_000);

  let root: string;
  let service: Service;
  before(async () => {
    root = await mkdtemp(path.join(tmpdir(), "lf-loop-"));
    service = await startService(path.join(root, "data"), {
      ADMIN_PASSWORD: password,
      EVENT_LOOP_STALL_SECONDS: String(stallSeconds),
      NODE_OPTIONS: `--import=${compiled("test/support/process/stall-on-text.ts")}`,
    });
  });
  after(async () => {
    await service.stop();
    await rm(root, { recursive: true, force: true });
  });

  const send = (method: string, at: string, authorization: string, body: object) =>
    fetch(service.url + at, {
      method,
      headers: { authorization, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const tokenOf = async (alias: string): Promise<string> => {
    const order = { name: "stall", scopes: ["USER_READ", "USER_WRITE"] };
    const at = "/user/settings/access-token/create";
    const answer = await send("POST", at, basicAuth(alias, password), order);
    return `token ${((await answer.json()) as { token: string }).token}`;
  };
  const pids = () => Promise.all(roles.map((role) => service.pidOf(role)));
  /** Sends what kills the role http, and waits until it answers again. */
  const killBy = async (method: string, at: string, authorization: string): Promise<void> => {
    const before = await service.pidOf("http");
    const sent = send(method, at, authorization, { name: stallText });
    expect(await sent.catch(() => "no answer")).to.equal("no answer");
    await eventually(async () => {
      const isNew = (await service.pidOf("http")) !== before;
      return isNew && (await fetch(`${service.url}/health/ready`)).ok;
    }, restartMs);
  };

  it("comes back, and suspends the operation for its caller alone after two kills", async () => {
    const [admin, others] = [await tokenOf("admin"), (await pids()).slice(1)];
    const anna = { email: "anna@example.com", password, alias: "anna" };
    expect((await send("POST", "/user/register", "", anna)).status).to.equal(200);
    const annas = await tokenOf("anna");
    for (let kills = 0; kills < 2; kills += 1) await killBy("PUT", "/user/profile", admin);
    expect((await pids()).slice(1)).to.deep.equal(others);

    const refused = await send("PUT", "/user/profile", admin, { name: stallText });
    const { code } = (await refused.json()) as { code: string };
    expect([refused.status, code]).to.deep.equal([503, "operation.suspended"]);
    expect(Number(refused.headers.get("retry-after"))).to.be.within(500, 600);
    expect((await send("PUT", "/user/profile", annas, { name: "Anna" })).status).to.equal(200);
    const other = { headers: { authorization: admin } };
    expect((await fetch(`${service.url}/user/me`, other)).status).to.equal(200);

    const metrics = await (await fetch(`${service.url}/metrics`, other)).text();
    expect(metrics).to.include('event_loop_kills{role="http",operation="changeOwnProfile"} 2');
    const log = await readFile(path.join(root, "data", "log", "http.log"), "utf8");
    const lines = log.split("\n").filter((line) => line.includes("the event loop stood still"));
    expect(lines).to.have.length(2);
    expect(lines[0]).to.include('"operation":"changeOwnProfile"');
  });

  it("suspends an operation for the network of callers without an account", async () => {
    for (let kills = 0; kills < 2; kills += 1) await killBy("POST", "/user/register", "");
    expect((await send("POST", "/user/register", "", { alias: "ben" })).status).to.equal(503);
    expect((await tokenOf("anna")).length).to.be.greaterThan("token ".length);
  });

  it("kills nobody after the whole machine stood still", async () => {
    const before = await pids();
    const all = [...before, await service.pidOf("event-store"), await service.pidOf("supervisor")];
    for (const pid of all) process.kill(pid, "SIGSTOP");
    await delay(stallSeconds * 1000 * 1.5);
    for (const pid of all) process.kill(pid, "SIGCONT");
    await eventually(async () => (await fetch(`${service.url}/health/ready`)).ok, restartMs);
    await delay(stallSeconds * 1000);
    expect(await pids()).to.deep.equal(before);
  });
});
