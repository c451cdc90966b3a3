import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { forgetUser } from "../../../src/commands/user/forget-user.ts";
import { commandDeps } from "../../../src/http/core/command-deps.ts";
import { routes } from "../../../src/http/routes.ts";
import { withoutThatOfToday } from "../../support/access/of-today.ts";
import { codeOf } from "../../support/app/answer.ts";
import { startTestApp } from "../../support/app/app.ts";
import { eventually } from "../../support/app/eventually.ts";
import { metadataFor } from "../../support/app/history.ts";
import { expectOk, issueClient, type Json } from "../../support/app/issue.ts";
import { givenWorld, pathOf, rightful } from "../../support/app/world.ts";

const app = await startTestApp();
const world = await givenWorld(app);
const { anna, bob } = world;
const forge = issueClient(app, anna, "anna/hidden");
const base = forge.base;

const now = async () => String(await app.head());
const as = (asOf: unknown) => `?asOf=${encodeURIComponent(String(asOf))}`;
const get = (at: string, by = anna) => app.get(at, { token: by.token });
const errorsOf = ({ body }: Awaited<ReturnType<typeof get>>) =>
  (body["errors"] as Json[]).map(({ field, code }) => [field, code]);

describe("a GET at a time", () => {
  it("answers each state that an issue had", async () => {
    const bug = await forge.label({ title: "bug", hexColor: "#cf222e" });
    const { localId } = await forge.created({ labels: [{ id: bug["id"] }] });
    const moments: (readonly [string, Json])[] = [];
    for (const title of ["Find", "Find it", "Found"]) {
      const issue = await forge.edited(localId, { title });
      moments.push([await now(), issue]);
    }
    expect(moments[0]?.[1]["labels"]).to.deep.equal([bug]);
    for (const [position, issue] of moments) {
      const one = await get(`${base}/issue/${localId}${as(position)}`);
      expect(expectOk(one)).to.deep.equal(issue);
      const listed = expectOk(await get(`${base}/issue${as(position)}&label=bug`));
      expect(listed["_embedded"]).to.deep.equal({ issueModelList: [issue] });
      expect(listed["page"]).to.include({ totalElements: 1 });
    }
  });

  it("reads the events of a thing by one read, however many they are", async () => {
    const { localId, id } = await forge.created();
    for (let n = 0; n < 12; n += 1) await forge.edited(localId, { title: String(n) });
    const { store } = app.deps;
    const { readStream } = store;
    const streams: string[] = [];
    Object.assign(store, {
      readStream: (...given: Parameters<typeof readStream>) => {
        streams.push(given[0]);
        return readStream(...given);
      },
    });
    const then = await get(`${base}/issue/${localId}${as(await now())}`).finally(() =>
      Object.assign(store, { readStream }),
    );
    expect(expectOk(then)["title"]).to.equal("11");
    expect(streams.filter((stream) => stream === `issue-${id}`)).to.have.length(1);
  });

  it("shows what was deleted since, with the label that it had", async () => {
    const label = await forge.label({ title: "old name" });
    const issue = await forge.created({ labels: [{ id: label["id"] }] });
    const position = await now();
    const own = { token: anna.token };
    const of = `${base}/label/${label["id"]}`;
    expectOk(await app.put(of, { ...own, body: { title: "new name" } }));
    expect((await app.delete(of, own)).status).to.equal(200);
    expect((await forge.remove(issue["localId"])).status).to.equal(200);
    const at = `${base}/issue/${issue["localId"]}`;
    expect(codeOf(await get(at))).to.deep.equal([404, "issue.not_found"]);
    expect(expectOk(await get(at + as(position)))).to.deep.equal(issue);
    expect(codeOf(await get(of))).to.deep.equal([404, "label.not_found"]);
    expect(expectOk(await get(of + as(position)))).to.deep.equal(label);
  });

  it("shows the comments of then, with those that were edited or deleted since", async () => {
    const { localId } = await forge.created();
    const at = `${base}/issue-discussion/${localId}`;
    const own = { token: anna.token };
    const say = async (note: string, to = at) =>
      String(expectOk(await app.post(`${to}/create`, { ...own, body: { note } }))["id"]);
    const [edited, deleted] = [await say("as it was"), await say("gone since")];
    const other = await forge.created();
    await say("elsewhere", `${base}/issue-discussion/${other["localId"]}`);
    const position = await now();
    const put = { ...own, body: { note: "edited" } };
    expectOk(await app.put(`${at}/${edited}/edit`, put));
    expect((await app.delete(`${at}/${deleted}/delete`, own)).status).to.equal(200);
    await say("later");
    const then = async () => {
      const { _embedded: all, page } = expectOk(await get(at + as(position)));
      expect(page).to.include({ totalElements: 2 });
      const { issueDiscussionList: list } = all as Record<string, Json[]>;
      return list?.map(({ message }) => message);
    };
    expect(await then()).to.deep.equal(["as it was", "gone since"]);
    expect((await forge.remove(localId)).status).to.equal(200);
    expect(await then(), "of an issue that is gone").to.deep.equal(["as it was", "gone since"]);
  });

  it("shows the discussions of then, at the lines that they were about", async () => {
    const request = "/project/anna/open/merge-request/1";
    const at = `${request}/discussions`;
    const own = { token: anna.token };
    const said = async (verb: string, body: Json) =>
      String(expectOk(await app.post(`${at}/${verb}`, { ...own, body }))["uuid"]);
    const first = await said("create", { message: "First" });
    const gone = await said("create", { message: "Gone" });
    const reply = await said("reply", { discussionUuid: first, message: "Reply" });
    const before = expectOk(await get(at))["_embedded"] as Json;
    const position = await now();
    const changed = { ...own, body: { message: "Changed" } };
    expectOk(await app.put(`${at}/edit/${reply}`, changed));
    expectOk(await app.post(`${at}/resolve/${first}`, own));
    expect((await app.delete(`${at}/delete/${gone}`, own)).status).to.equal(200);
    const then = expectOk(await get(at + as(position)));
    expect(withoutThatOfToday(then["_embedded"] as Json)).to.deep.equal(withoutThatOfToday(before));
    expect((await app.delete(`${at}/delete/${first}`, own)).status).to.equal(200);
  });

  it("shows triggers and settings of accounts that were deleted or changed since", async () => {
    const own = { token: anna.token };
    const [triggers, setting] = [`${base}/cicd/trigger`, "/user/settings/notification"];
    const made = await app.post(triggers, { ...own, body: { description: "Outside" } });
    expectOk(await app.put(setting, { ...own, body: { mail: false } }));
    const [list, position] = [expectOk(await get(triggers)), await now()];
    expect((await app.delete(`${triggers}/${made.body["id"]}`, own)).status).to.equal(200);
    expectOk(await app.put(setting, { ...own, body: { mail: true } }));
    expect(expectOk(await get(triggers + as(position)))).to.deep.equal(list);
    expect(expectOk(await get(triggers))["page"]).to.include({ totalElements: 0 });
    expect(expectOk(await get(setting + as(position)))).to.deep.equal({ mail: false });
    expect(expectOk(await get(setting))).to.deep.equal({ mail: true });
  });

  it("shows what the commit of then changed on a branch", async () => {
    const own = { token: anna.token };
    const commit = async (name: string, more: Json = {}) => {
      const action = { action: "CREATE", path: name, content: name, encoding: "text" };
      const body = { branch: "then", message: name, actions: [action], ...more };
      expectOk(await app.post(`${base}/commit`, { ...own, body }));
    };
    const at = `${base}/commit/then/file`;
    await commit("early.txt", { startBranch: "main" });
    const [files, position] = [(await get(at)).text, await now()];
    expect(files).to.include("early.txt");
    await commit("late.txt");
    expect((await get(at)).text).to.include("late.txt");
    expect((await get(at + as(position))).text).to.equal(files);
  });

  it("takes a time, and leaves the read models of today as they are", async () => {
    const issue = await forge.created();
    const time = new Date();
    await eventually(() => new Date() > time);
    await forge.edited(issue["localId"], { title: "Later" });
    const at = `${base}/issue/${issue["localId"]}`;
    expect(expectOk(await get(at + as(time.toISOString())))).to.deep.equal(issue);
    const inParis = new Date(time.getTime() + 3_600_000).toISOString().replace("Z", "+01:00");
    expect(expectOk(await get(at + as(inParis)))).to.deep.equal(issue);
    expect(expectOk(await get(at))["title"]).to.equal("Later");
  });

  it("answers 404 before the thing was there, and 422 after the end of the log", async () => {
    const position = await now();
    const { localId } = await forge.created();
    const at = `${base}/issue/${localId}`;
    expect(codeOf(await get(at + as(position)))).to.deep.equal([404, "issue.not_found"]);
    const early = await get(`${base}/issue${as(0)}`);
    expect(codeOf(early)).to.deep.equal([404, "project.not_found"]);
    for (const asOf of [2n ** 63n - 1n, "9999-01-01T00:00:00Z"]) {
      const answer = await get(at + as(asOf));
      expect(answer.status).to.equal(422);
      expect(errorsOf(answer)).to.deep.equal([["asOf", "as_of.future"]]);
    }
  });

  it("refuses what is neither a time nor a position", async () => {
    const wrong = ["yesterday", "-1", "2026-13-01", 2n ** 63n, "2026-01-01T00:00:00"];
    for (const asOf of [...wrong, "0000-01-01", "0001-01-01T00:00:00+01:00"]) {
      const answer = await get(`${base}/issue${as(asOf)}`);
      expect(answer.status, String(asOf)).to.equal(422);
      expect(errorsOf(answer)[0]?.[0]).to.equal("asOf");
    }
    const answer = await get(`${base}/setting/cicd/variable${as(1)}`);
    expect(errorsOf(answer)).to.deep.equal([["asOf", "as_of.not_here"]]);
  });

  it("is refused by every stream that does not know it, instead of answered with the present", async () => {
    const streams = routes.filter(
      ({ method, reply, asOf }) => method === "get" && reply === "stream" && asOf === undefined,
    );
    expect(streams).not.to.deep.equal([]);
    for (const route of streams) {
      const answer = await get(`${pathOf(route, world.hidden)}${as(1)}`, rightful(route, world));
      expect(answer.status, route.operationId).to.equal(422);
      expect(errorsOf(answer), route.operationId).to.deep.include(["asOf", "as_of.not_here"]);
    }
  });

  it("shows rules from above only while the project has belonged there ever since", async () => {
    const own = { token: anna.token };
    const made = async (path: string, body: unknown) =>
      expectOk(await app.post(path, { ...own, body }));
    await made("/team", { title: "Above", alias: "above-team", isPrivate: true });
    await made("/team/above-team/setting/import", { allowImportTagProtection: true });
    const rule = { tagTemplate: "of-team", allowToCreate: "ADMINS" };
    await made("/team/above-team/tag-protection/create", rule);
    await made("/project", { title: "Moving", alias: "moving", isPrivate: true });
    const alone = await now();
    const team = { ownerAlias: "above-team", ownerAliasType: "TEAM" };
    await made("/project/anna/moving/transfer", team);
    const below = await now();
    const rules = async (query: string, owner = "above-team") => {
      const body = expectOk(await get(`/project/${owner}/moving/tag-protection${query}`));
      const { restTagProtectionModelList: list } = body["_embedded"] as Record<string, Json[]>;
      return list?.map(({ tagTemplate }) => tagTemplate);
    };
    expect(await rules("")).to.deep.equal(["of-team"]);
    expect(await rules(as(below))).to.deep.equal(["of-team"]);
    expect(await rules(as(alone))).to.deep.equal([]);

    const back = { ownerAlias: "anna", ownerAliasType: "USER" };
    await made("/project/above-team/moving/transfer", back);
    await made("/project/anna/moving/transfer", team);
    expect(await rules(as(await now()))).to.deep.equal(["of-team"]);
    expect(await rules(as(below)), "it was elsewhere in between").to.deep.equal([]);
  });

  it("is for administrators of the owner scope, who alone read what was overwritten since", async () => {
    const position = await now();
    const at = `${base}/issue/1`;
    const refused = codeOf(await get(at, bob));
    expect(codeOf(await get(at + as(position), bob))).to.deep.equal(refused);
    await forge.invite("bob", "DEVELOPER");
    expect((await get(at, bob)).status).to.equal(200);
    const forbidden = [403, "as_of.forbidden"];
    for (const path of [at, `${base}/issue`, base]) {
      expect(codeOf(await get(path + as(position), bob))).to.deep.equal(forbidden);
    }
  });

  it("is of an account for its person and administrators of the instance", async () => {
    const position = await now();
    const status = async (by: typeof anna) => (await get(`/user/bob${as(position)}`, by)).status;
    expect([await status(bob), await status(world.root), await status(anna)]).to.deep.equal([
      200, 200, 403,
    ]);
  });

  it("does not give a webhook's secret away again", async () => {
    const body = { url: "https://example.org/", secret: "once", events: { MERGE: true } };
    const own = { token: anna.token };
    const { id } = expectOk(await app.post(`${base}/setting/webhook`, { ...own, body }));
    const at = `${base}/setting/webhook/${id}`;
    expect(expectOk(await get(at))["secret"]).to.equal("once");
    expect(expectOk(await get(at + as(await now())))["secret"]).to.equal(null);
  });

  it("keeps forgotten what was forgotten", async () => {
    const dora = await app.givenUser("dora");
    await forge.invite("dora", "DEVELOPER");
    const { localId } = await forge.created({}, dora);
    const position = await now();
    const { root } = world;
    expect(expectOk(await get(`/user/dora${as(position)}`, root))["username"]).to.equal("dora");
    const order = [commandDeps(app.deps), dora.id, metadataFor(randomUUID())] as const;
    await app.deps.visible((await forgetUser(...order)).position);
    const issue = await get(`${base}/issue/${localId}${as(position)}`);
    expect(issue.status).to.equal(200);
    for (const path of [`${base}/issue`, `${base}/member`, `/user/${dora.id}`, "/user/dora"]) {
      expect((await get(path + as(position), root)).text).not.to.include('"dora"');
    }
    expect((await get(`/user/${dora.id}${as(position)}`, root)).status).to.equal(404);
  });
});
