import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { newToken } from "../../../../src/platform/key/token.ts";
import { givenAgent, info } from "../../../support/agent/agent.ts";
import { startTestApp } from "../../../support/app/app.ts";

const app = await startTestApp();
const anna = await app.givenUser("anna");
const bob = await app.givenUser("bob");
const root = await app.givenUser("root", { admin: true });
await app.givenProject(anna, "search");
await app.givenProject(anna, "other");
const { token } = anna;
await app.post("/company", { token, body: { title: "Acme", alias: "acme" } });

const search = { base: "/project/anna/search/runners", token };
const other = { base: "/project/anna/other/runners", token };
const acme = { base: "/company/acme/runners", token };
const instance = { base: "/admin/runners", token: root.token };

const registrationToken = async ({ base, token }: typeof search) =>
  String((await app.get(`${base}/registration-info`, { token })).body["registrationToken"]);
const register = (body: Readonly<Record<string, unknown>>) => app.post("/api/v4/runners", { body });
const verify = (agentToken: string, systemId = "s_1") =>
  app.post("/api/v4/runners/verify", {
    body: { token: agentToken, system_id: systemId, info },
    headers: { "runner-token": agentToken },
  });
const listed = async ({ base, token }: typeof search) => {
  const { body } = await app.get(base, { token });
  const { restPipelineRunnerModelList } = body["_embedded"] as {
    restPipelineRunnerModelList: Record<string, unknown>[];
  };
  return restPipelineRunnerModelList;
};

describe("registration tokens", () => {
  it("are shown again as they were, with the URL that an agent is given", async () => {
    const first = await app.get(`${search.base}/registration-info`, { token });
    const again = await app.get(`${search.base}/registration-info`, { token });
    expect(first.status, first.text).to.equal(200);
    expect(first.body["registrationUrl"]).to.equal(app.url);
    expect(first.body["registrationToken"]).to.match(/^lfrt_[0-9A-Za-z]{49}$/);
    expect(again.body).to.deep.equal(first.body);
    expect(first.headers.get("cache-control")).to.equal("no-store");
  });

  it("differ between owners, and are for administrators of each only", async () => {
    const tokens = [search, other, acme, instance].map(registrationToken);
    expect(new Set(await Promise.all(tokens)).size).to.equal(4);
    for (const { base } of [search, acme, instance]) {
      for (const path of ["", "/registration-info"]) {
        expect((await app.get(base + path, { token: bob.token })).status).to.equal(403);
      }
      const reset = await app.post(`${base}/registration-info/reset`, { token: bob.token });
      expect(reset.status).to.equal(403);
    }
  });

  it("register nothing once they were reset", async () => {
    const before = await registrationToken(other);
    const reset = await app.post(`${other.base}/registration-info/reset`, { token });
    expect(reset.status).to.equal(200);
    expect(reset.body["registrationToken"]).not.to.equal(before);
    expect((await register({ token: before })).status).to.equal(403);
    expect((await register({ token: await registrationToken(other) })).status).to.equal(201);
  });

  it("are not guessed: an unknown one is refused", async () => {
    const answer = await register({ token: newToken("lfrt") });
    expect(answer.status).to.equal(403);
    expect(answer.body["code"]).to.equal("agent.token_invalid");
  });
});

describe("registering an agent", () => {
  it("gives it what gitlab-runner sends, and shows it to its owner", async () => {
    const { number } = await givenAgent(app, search, {
      description: "builder",
      maintenance_note: "In the cellar",
      tag_list: "linux, docker,,linux",
      run_untagged: false,
      locked: true,
      access_level: "ref_protected",
      maximum_timeout: 1800,
      paused: true,
    });
    expect(Number.isSafeInteger(number) && number > 0).to.equal(true);
    const [shown] = await listed(search);
    expect(shown).to.deep.include({
      name: "builder",
      description: "In the cellar",
      tags: ["docker", "linux"],
      runUntagged: false,
      locked: true,
      protected: true,
      maxTimeoutInSec: 1800,
      active: false,
      ownerType: "PROJECT",
      platform: info.platform,
      architecture: info.architecture,
      ipAddress: "127.0.0.1",
    });
    expect(shown?.["connectedAt"]).to.be.a("string");
  });

  it("makes agents of the company and of the instance", async () => {
    const ofCompany = await givenAgent(app, acme);
    const ofInstance = await givenAgent(app, instance);
    expect((await listed(acme)).map(({ id, ownerType }) => [id, ownerType])).to.deep.equal([
      [ofCompany.id, "COMPANY"],
    ]);
    const all = await listed(instance);
    expect(all[0]).to.deep.include({ id: ofInstance.id, ownerType: "GLOBAL", ownerId: null });
    expect(all.map(({ id }) => id)).to.include(ofCompany.id);
  });

  it("runs untagged jobs when it has no tags, and refuses one that could run none", async () => {
    const registration = await registrationToken(search);
    expect((await register({ token: registration })).status).to.equal(201);
    expect((await listed(search))[0]).to.deep.include({ tags: [], runUntagged: true });
    const nothing = await register({ token: registration, run_untagged: false });
    expect(nothing.status).to.equal(422);
    expect(nothing.body["code"]).to.equal("agent.takes_nothing");
  });
});

describe("the token of an agent", () => {
  it("is verified, which notes the contact of the agent", async () => {
    const agent = await givenAgent(app, search);
    const answer = await verify(agent.token);
    expect(answer.status, answer.text).to.equal(200);
    expect(answer.headers.get("content-type")).to.match(/^application\/json/);
    expect(answer.body).to.deep.equal({
      id: agent.number,
      token: agent.token,
      token_expires_at: null,
    });
    const shown = await app.get(`${search.base}/${agent.id}`, { token });
    expect(shown.body).to.include({
      platform: "linux",
      architecture: "amd64",
      ipAddress: "127.0.0.1",
    });
    expect(shown.body["connectedAt"]).to.be.a("string");
  });

  it("has its contact written when it says something new, or was forgotten", async () => {
    const agent = await givenAgent(app, search);
    let written = 0;
    const count = ({ sql }: { sql: string }): void => {
      if (sql.startsWith('insert into "public"."agent_contact"')) written += 1;
    };
    app.deps.db.on("query", count);
    const about = { token: agent.token, system_id: "s_1" };
    for (const version of ["1", "1", "2", "2"]) {
      await app.post("/api/v4/runners/verify", { body: { ...about, info: { ...info, version } } });
    }
    expect(written).to.equal(2);
    await app.delete("/api/v4/runners/managers", { body: about });
    await app.post("/api/v4/runners/verify", {
      body: { ...about, info: { ...info, version: "2" } },
    });
    app.deps.db.off("query", count);
    expect(written).to.equal(3);
  });

  it("is taken from the body alone as well, and refused where header and body differ", async () => {
    const agent = await givenAgent(app, search);
    const inBody = await app.post("/api/v4/runners/verify", { body: { token: agent.token } });
    expect(inBody.status).to.equal(200);
    const headers = { "runner-token": agent.token };
    const body = { token: newToken("lfag") };
    expect((await app.post("/api/v4/runners/verify", { body, headers })).status).to.equal(403);
  });

  it("is no other token: of a user, of registration, unknown or none", async () => {
    const others = [token, await registrationToken(search), newToken("lfag"), "glrt-x", ""];
    const head = await app.head();
    for (const wrong of others) expect((await verify(wrong)).status, wrong).to.equal(403);
    expect(await app.head()).to.equal(head);
  });

  it("is reset by the agent; the former one is valid until the new one is used", async () => {
    const agent = await givenAgent(app, search);
    const at = "/api/v4/runners/reset_authentication_token";
    const lost = await app.post(at, { body: { token: agent.token } });
    expect(lost.status, lost.text).to.equal(201);
    const answer = await app.post(at, { body: { token: agent.token } });
    const fresh = String(answer.body["token"]);
    expect((await verify(agent.token)).status).to.equal(200);
    expect((await verify(fresh)).status).to.equal(200);
    expect((await verify(agent.token)).status).to.equal(403);
    expect((await verify(String(lost.body["token"]))).status).to.equal(403);
  });

  describe("that is reset by a person", () => {
    const resetBy = (number: number, privateToken: string) =>
      app.post(`/api/v4/runners/${number}/reset_authentication_token`, {
        headers: { "private-token": privateToken, "content-type": "application/json" },
        body: null,
      });

    it("is for who administers the agent", async () => {
      const agent = await givenAgent(app, search);
      const answer = await resetBy(agent.number, token);
      expect(answer.status, answer.text).to.equal(201);
      expect(answer.body).to.include({ id: agent.number, token_expires_at: null });
      expect((await verify(String(answer.body["token"]))).status).to.equal(200);
      expect((await verify(agent.token)).status).to.equal(403);
      const shared = await givenAgent(app, instance);
      expect((await resetBy(shared.number, token)).status).to.equal(404);
      expect((await resetBy(shared.number, root.token)).status).to.equal(201);
      const ofCompany = await givenAgent(app, acme);
      expect((await resetBy(ofCompany.number, token)).status).to.equal(201);
    });

    it("is refused to others, without the scope, and with another token", async () => {
      const agent = await givenAgent(app, search);
      const reading = await app.givenToken(anna.id, ["PROJECT_READ"]);
      expect((await resetBy(agent.number, reading)).status).to.equal(403);
      expect((await resetBy(agent.number, bob.token)).status).to.equal(404);
      expect((await resetBy(agent.number + 1, token)).status).to.equal(404);
      expect((await resetBy(agent.number, agent.token)).status).to.equal(403);
      expect((await resetBy(agent.number, "")).status).to.equal(403);
      expect((await verify(agent.token)).status).to.equal(200);
    });

    it("shows no token of a person to other addresses", async () => {
      const headers = { "private-token": token };
      expect((await app.get(search.base, { headers })).status).to.equal(403);
    });
  });

  it("removes the agent that unregisters", async () => {
    const agent = await givenAgent(app, search);
    const gone = await app.delete("/api/v4/runners", { body: { token: agent.token } });
    expect(gone.status, gone.text).to.equal(204);
    expect((await verify(agent.token)).status).to.equal(403);
    expect((await app.get(`${search.base}/${agent.id}`, { token })).status).to.equal(404);
  });

  it("forgets one machine and leaves the others", async () => {
    const agent = await givenAgent(app, search);
    await verify(agent.token, "s_one");
    await verify(agent.token, "s_two");
    const forget = () =>
      app.delete("/api/v4/runners/managers", {
        body: { token: agent.token, system_id: "s_one" },
      });
    expect((await forget()).status).to.equal(204);
    expect((await forget()).status).to.equal(404);
    expect((await verify(agent.token, "s_two")).status).to.equal(200);
  });
});

describe("changing an agent", () => {
  it("keeps what is left out, and shows what was changed", async () => {
    const agent = await givenAgent(app, search, { description: "old", tag_list: "a" });
    const body = { name: "new", tags: ["b", "a"], isActive: "false", maxTimeoutInSec: 60 };
    const answer = await app.post(`${search.base}/${agent.id}/edit`, { token, body });
    expect(answer.status, answer.text).to.equal(200);
    expect(answer.body).to.deep.include({
      id: agent.id,
      name: "new",
      tags: ["a", "b"],
      active: false,
      maxTimeoutInSec: 60,
      runUntagged: true,
      locked: true,
      protected: false,
    });
    const flags = { isLocked: false, isProtected: true, maxTimeoutInSec: null };
    const changed = await app.post(`${search.base}/${agent.id}/edit`, { token, body: flags });
    expect(changed.body).to.include({ locked: false, protected: true, maxTimeoutInSec: null });
    expect(changed.body["name"]).to.equal("new");
  });

  it("shuts it down and removes it, after which its token is invalid", async () => {
    const agent = await givenAgent(app, search);
    expect((await app.post(`${search.base}/${agent.id}/shutdown`, { token })).status).to.equal(200);
    const shown = await app.get(`${search.base}/${agent.id}`, { token });
    expect(shown.body["active"]).to.equal(false);
    expect((await verify(agent.token)).status).to.equal(200);
    expect((await app.delete(`${search.base}/${agent.id}`, { token })).status).to.equal(200);
    expect((await verify(agent.token)).status).to.equal(403);
    expect((await app.delete(`${search.base}/${agent.id}`, { token })).status).to.equal(404);
  });

  it("finds no agent of another owner, and none that does not exist", async () => {
    const agent = await givenAgent(app, acme);
    const head = await app.head();
    for (const id of [agent.id, randomUUID()]) {
      const at = `${search.base}/${id}`;
      expect((await app.get(at, { token })).status).to.equal(404);
      expect((await app.delete(at, { token })).status).to.equal(404);
      expect((await app.post(`${at}/shutdown`, { token })).status).to.equal(404);
      expect((await app.post(`${at}/edit`, { token, body: { name: "x" } })).status).to.equal(404);
    }
    expect(await app.head()).to.equal(head);
  });
});
