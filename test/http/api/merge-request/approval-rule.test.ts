import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { approvalConfigurationDefault } from "../../../../src/events/merge-request/approval-rule.ts";
import { approvalRulesFor } from "../../../../src/projections/merge-request/approval-rule.ts";
import { findProject } from "../../../../src/projections/project/project.ts";
import { rulesOf } from "../../../../src/services/merge-request/approver.ts";
import { type Send, startTestApp, type TestUser } from "../../../support/app/app.ts";

const app = await startTestApp();
const as = (user: { token: string }, body?: unknown): Send => ({ token: user.token, body });
const patch = (path: string, body: unknown) => app.send("PATCH", path, as(anna, body));

let anna: TestUser;
let bob: TestUser;

before(async () => {
  anna = await app.givenUser("anna");
  bob = await app.givenUser("bob");
  await app.post("/company", as(anna, { title: "C", alias: "acme" }));
  const ofAcme = { ownerAlias: "acme", ownerAliasType: "COMPANY" };
  await app.post("/team", as(anna, { title: "T", alias: "tools", ...ofAcme }));
  const ofTools = { ownerAlias: "tools", ownerAliasType: "TEAM" };
  await app.post("/project", as(anna, { title: "S", alias: "search", ...ofTools }));
});

const rule = (over: object = {}) => ({
  targetBranch: "main",
  name: "Two of us",
  minimalApprovals: "2",
  allowedApproversUuid: [anna.id, bob.id],
  ...over,
});

for (const at of ["/company/acme", "/team/tools", "/project/tools/search"]) {
  describe(`approval rules at ${at}`, () => {
    const base = `${at}/merge-request/approval/rule`;
    let uuid: string;

    it("are created, got and listed with their approvers", async () => {
      const { status, body } = await app.post(`${base}/create`, as(anna, rule()));
      expect(status, JSON.stringify(body)).to.equal(200);
      uuid = String(body["uuid"]);
      expect(body).to.include({ targetBranch: "main", name: "Two of us", minimalApprovals: 2 });
      const approvers = body["allowedApprovers"] as { username: string }[];
      expect(approvers.map(({ username }) => username)).to.deep.equal(["anna", "bob"]);
      expect((await app.get(`${base}/${uuid}`, as(anna))).body).to.deep.equal(body);
      const list = (await app.get(base, as(anna))).body["_embedded"];
      expect(list).to.deep.equal({ restMergeRequestApprovalRuleList: [body] });
    });

    it("are refused when nobody could satisfy them, or when an approver is nobody", async () => {
      const over = { minimalApprovals: 3 };
      expect((await app.post(`${base}/create`, as(anna, rule(over)))).status).to.equal(422);
      expect((await patch(`${base}/edit`, { uuid, ...over })).status).to.equal(422);
      const nobody = { allowedApproversUuid: [anna.id, bob.id, randomUUID()] };
      expect((await app.post(`${base}/create`, as(anna, rule(nobody)))).status).to.equal(404);
    });

    it("are edited in part", async () => {
      const { status, body } = await patch(`${base}/edit`, { uuid, minimalApprovals: 1 });
      expect(status).to.equal(200);
      expect(body).to.include({ uuid, minimalApprovals: 1, name: "Two of us" });
    });

    it("are for ADMINs alone, and found under their own parent alone", async () => {
      const head = await app.head();
      const elsewhere = at === "/team/tools" ? "/company/acme" : "/team/tools";
      const foreign = `${elsewhere}/merge-request/approval/rule`;
      for (const [method, path, body] of [
        ["GET", `/${uuid}`, undefined],
        ["DELETE", `/${uuid}`, undefined],
        ["PATCH", "/edit", { uuid, name: "Mine" }],
      ] as const) {
        expect((await app.send(method, base + path, as(bob, body))).status).to.equal(403);
        expect((await app.send(method, foreign + path, as(anna, body))).status).to.equal(404);
      }
      expect(await app.head()).to.equal(head);
    });

    it("are deleted", async () => {
      expect((await app.delete(`${base}/${uuid}`, as(anna))).status).to.equal(204);
      expect((await app.get(`${base}/${uuid}`, as(anna))).status).to.equal(404);
    });
  });
}

describe("the approval configuration", () => {
  const at = (place: string) => `${place}/merge-request/approval/configuration`;
  const project = "/project/tools/search";
  const importing = (place: string, on: boolean) =>
    app.post(`${place}/setting/import`, as(anna, { allowImportMrApprovalConfigAndRules: on }));
  const configuration = async (place: string) => (await app.get(at(place), as(anna))).body;

  it("is the default until it is changed in part", async () => {
    expect(await configuration("/team/tools")).to.deep.equal(approvalConfigurationDefault);
    const { body } = await patch(`${at("/team/tools")}/edit`, { checkCiCdStatus: true });
    expect(body).to.deep.equal({ ...approvalConfigurationDefault, checkCiCdStatus: true });
    expect(await configuration("/company/acme")).to.deep.equal(approvalConfigurationDefault);
    expect((await patch(`${at("/team/tools")}/edit`, { checkCiCdStatus: "x" })).status).to.equal(
      422,
    );
    expect((await app.get(at("/team/tools"), as(bob))).status).to.equal(403);
  });

  it("has the stricter of what is handed down and of its own, and is kept once changed", async () => {
    await patch(`${at("/company/acme")}/edit`, { preventAuthorApproving: true });
    expect(await configuration(project)).to.deep.equal(approvalConfigurationDefault);
    await importing("/company/acme", true);
    expect(await configuration(project)).to.include({ preventAuthorApproving: true });
    await importing("/team/tools", true);
    expect(await configuration(project)).to.include({
      preventAuthorApproving: true,
      checkCiCdStatus: true,
    });
    const weaker = {
      canOverrideApprovals: true,
      preventAuthorApproving: false,
      enableRemoveSourceBranchByDefault: true,
      requirePasswordToApprove: true,
    };
    const demanded = {
      canOverrideApprovals: false,
      preventAuthorApproving: true,
      enableRemoveSourceBranchByDefault: true,
      requirePasswordToApprove: true,
    };
    expect((await patch(`${at(project)}/edit`, weaker)).body).to.include(demanded);
    expect(await configuration(project)).to.include(demanded);
    await importing("/team/tools", false);
    expect(await configuration(project)).to.include({ ...demanded, checkCiCdStatus: true });
    await importing("/company/acme", false);
    expect(await configuration(project)).to.include({ ...weaker, checkCiCdStatus: true });
    await importing("/company/acme", true);
  });

  it("comes with the rules that fit a merge request's target", async () => {
    for (const [place, targetBranch] of [
      ["/company/acme", "**"],
      ["/team/tools", "release-*"],
      [project, "main"],
    ] as const) {
      const body = rule({ targetBranch, name: place });
      await app.post(`${place}/merge-request/approval/rule/create`, as(anna, body));
    }
    const row = await findProject(app.platform.db, "tools", "search");
    const names = async (branch: string) =>
      (await approvalRulesFor(app.platform.db, row!, branch)).map(({ name }) => name).sort();
    expect(await names("main")).to.deep.equal(["/company/acme", project]);
    expect(await names("release-1")).to.deep.equal(["/company/acme"]);
    await importing("/team/tools", true);
    expect(await names("release-1")).to.deep.equal(["/company/acme", "/team/tools"]);
  });

  it("leaves a request with rules of its own under those of team and company", async () => {
    const row = await findProject(app.platform.db, "tools", "search");
    const names = async (own: readonly [] | null, canOverrideApprovals: boolean) => {
      const request = { approval_rules: own, target_branch: "main" };
      const now = { ...approvalConfigurationDefault, canOverrideApprovals };
      const rules = await rulesOf(app.platform.db, row!, request, now);
      return rules.map(({ name }) => name).sort();
    };
    expect(await names(null, true)).to.deep.equal(["/company/acme", project]);
    expect(await names([], false)).to.deep.equal(["/company/acme", project]);
    expect(await names([], true)).to.deep.equal(["/company/acme"]);
  });
});
