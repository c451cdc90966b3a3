import { expect } from "chai";

import { type Send, startTestApp, type TestUser } from "../../../support/app/app.ts";

const app = await startTestApp();
const as = (user: { token: string }, body?: unknown): Send => ({ token: user.token, body });
const patch = (path: string, options: Send) => app.send("PATCH", path, options);

let anna: TestUser;
let bob: TestUser;

before(async () => {
  anna = await app.givenUser("anna");
  bob = await app.givenUser("bob");
  await app.post("/company", as(anna, { title: "C", alias: "acme" }));
  const ofAcme = { ownerAlias: "acme", ownerAliasType: "COMPANY" };
  await app.post("/team", as(anna, { title: "T", alias: "tools", ...ofAcme }));
  for (const [alias, owner] of [
    ["search", {}],
    ["engine", { ownerAlias: "tools", ownerAliasType: "TEAM" }],
    ["site", ofAcme],
  ] as const) {
    await app.post("/project", as(anna, { title: alias, alias, ...owner }));
  }
});

type Json = Record<string, unknown>;
const lists = {
  tag: "restTagProtectionModelList",
  environment: "restEnvironmentProtectionModelList",
  branch: "branchProtectionApiModelList",
} as const;
type Kind = keyof typeof lists;
const rules = async (at: string, kind: Kind): Promise<Json[]> => {
  const { body } = await app.get(`${at}/${kind}-protection`, as(anna));
  return (body["_embedded"] as Record<string, Json[]>)[lists[kind]] ?? [];
};

const bodies: Record<Kind, Json> = {
  tag: { tagTemplate: "v*", allowToCreate: "ADMINS" },
  environment: { environmentTemplate: "production/**", allowToDeploy: "NO_ONE" },
  branch: {
    branchTemplate: "release-?",
    allowedToPush: "NO_ONE",
    allowedToMerge: "DEVELOPER",
    allowForcePush: false,
  },
};
const changes: Record<Kind, Json> = {
  tag: { allowToCreate: "DEVELOPER" },
  environment: { allowToDeploy: "ADMINS" },
  branch: { allowedToPush: "ADMINS", allowForcePush: "true" },
};

for (const [at, ownerType] of [
  ["/company/acme", "COMPANY"],
  ["/team/tools", "TEAM"],
  ["/project/anna/search", "PROJECT"],
] as const) {
  for (const kind of ["tag", "environment", "branch"] as const) {
    describe(`${kind} protection rules at ${at}`, () => {
      const base = `${at}/${kind}-protection`;
      let uuid: string;

      it("are created, got and listed with all their fields", async () => {
        const { status, body } = await app.post(`${base}/create`, as(anna, bodies[kind]));
        expect(status, JSON.stringify(body)).to.equal(200);
        uuid = String(body["uuid"]);
        expect(body).to.deep.equal({ ...bodies[kind], ownerType, uuid });
        expect((await app.get(`${base}/${uuid}`, as(anna))).body).to.deep.equal(body);
        expect(await rules(at, kind)).to.deep.equal([body]);
      });

      it("are one for each template", async () => {
        const { status, body } = await app.post(`${base}/create`, as(anna, bodies[kind]));
        expect([status, body["code"]]).to.deep.equal([422, "protection.template_taken"]);
        expect((body["errors"] as object[])[0]).to.include({ field: `${kind}Template` });
      });

      it("need a template and levels that exist", async () => {
        for (const field of Object.keys(bodies[kind])) {
          const bad = { ...bodies[kind], [field]: field.includes("Template") ? " " : "EVERYBODY" };
          expect((await app.post(`${base}/create`, as(anna, bad))).status, field).to.equal(422);
        }
      });

      it("are edited in part", async () => {
        const { status, body } = await patch(`${base}/edit`, as(anna, { uuid, ...changes[kind] }));
        expect(status, JSON.stringify(body)).to.equal(200);
        const force = kind === "branch" ? { allowForcePush: true } : {};
        expect(body).to.deep.equal({
          ...bodies[kind],
          ...changes[kind],
          ...force,
          ownerType,
          uuid,
        });
      });

      it("are for ADMINs alone", async () => {
        const invitation = { userAlias: "bob", role: "DEVELOPER" };
        await app.post(`${at}/member/invite`, as(anna, invitation));
        const head = await app.head();
        for (const [method, path, body] of [
          ["GET", "", undefined],
          ["GET", `/${uuid}`, undefined],
          ["POST", "/create", bodies[kind]],
          ["PATCH", "/edit", { uuid, ...changes[kind] }],
          ["DELETE", `/${uuid}`, undefined],
        ] as const) {
          expect((await app.send(method, base + path, as(bob, body))).status).to.equal(403);
        }
        expect(await app.head()).to.equal(head);
        await app.delete(`${at}/member/bob`, as(anna));
      });

      it("are found under their own parent and kind alone", async () => {
        const otherKind = kind === "tag" ? "branch" : "tag";
        const elsewhere = at === "/team/tools" ? "/company/acme" : "/team/tools";
        const head = await app.head();
        for (const path of [`${elsewhere}/${kind}-protection`, `${at}/${otherKind}-protection`]) {
          const change = { uuid, ...changes[path.includes(kind) ? kind : otherKind] };
          expect((await app.get(`${path}/${uuid}`, as(anna))).status, path).to.equal(404);
          expect((await app.delete(`${path}/${uuid}`, as(anna))).status, path).to.equal(404);
          expect((await patch(`${path}/edit`, as(anna, change))).status, path).to.equal(404);
        }
        expect(await app.head()).to.equal(head);
      });

      it("are deleted", async () => {
        const { status, text } = await app.delete(`${base}/${uuid}`, as(anna));
        expect([status, text]).to.deep.equal([204, ""]);
        expect((await app.get(`${base}/${uuid}`, as(anna))).status).to.equal(404);
        expect(await rules(at, kind)).to.deep.equal([]);
      });
    });
  }
}

describe("rules of a team or company", () => {
  const engine = "/project/tools/engine";
  const switchOn = (at: string, on: boolean) =>
    app.post(`${at}/setting/import`, as(anna, { allowImportTagProtection: on }));
  const templates = async (at: string) =>
    (await rules(at, "tag")).map(({ tagTemplate, ownerType }) => `${tagTemplate} ${ownerType}`);

  before(async () => {
    const rule = (tagTemplate: string) => as(anna, { tagTemplate, allowToCreate: "ADMINS" });
    await app.post("/company/acme/tag-protection/create", rule("c*"));
    await app.post("/team/tools/tag-protection/create", rule("t*"));
    await app.post(`${engine}/tag-protection/create`, rule("p*"));
  });

  it("are handed down where the switch is on", async () => {
    expect(await templates(engine)).to.deep.equal(["p* PROJECT"]);
    await switchOn("/company/acme", true);
    expect(await templates(engine)).to.deep.equal(["c* COMPANY", "p* PROJECT"]);
    await switchOn("/team/tools", true);
    expect(await templates(engine)).to.deep.equal(["c* COMPANY", "t* TEAM", "p* PROJECT"]);
    expect(await templates("/project/acme/site")).to.deep.equal(["c* COMPANY"]);
    expect(await templates("/project/anna/search")).to.deep.equal([]);
    await switchOn("/company/acme", false);
    await switchOn("/team/tools", false);
    expect(await templates(engine)).to.deep.equal(["p* PROJECT"]);
  });

  it("are no project's to change", async () => {
    await switchOn("/team/tools", true);
    const uuid = (await rules(engine, "tag"))[0]?.["uuid"];
    const change = as(anna, { uuid, allowToCreate: "DEVELOPER" });
    expect((await patch(`${engine}/tag-protection/edit`, change)).status).to.equal(404);
    expect((await app.delete(`${engine}/tag-protection/${uuid}`, as(anna))).status).to.equal(404);
    await switchOn("/team/tools", false);
  });

  it("show their switches, and change those that are given", async () => {
    const off = {
      allowImportBranchProtection: false,
      allowImportEnvironmentProtection: false,
      allowImportTagProtection: false,
      allowImportMrApprovalConfigAndRules: false,
      allowImportPipelineLifetimeSetting: false,
    };
    for (const at of ["/team/tools", "/company/acme"]) {
      const path = `${at}/setting/import`;
      expect((await app.get(path, as(anna))).body).to.deep.equal(off);
      const on = { allowImportPipelineLifetimeSetting: true };
      expect((await app.post(path, as(anna, on))).body).to.deep.equal({ ...off, ...on });
      expect((await app.get(path, as(bob))).status).to.equal(403);
      expect((await app.post(path, as(bob, on))).status).to.equal(403);
    }
  });

  it("are applied to all projects below when the answer arrives, without a worker", async () => {
    const path = "/company/acme/tag-protection/apply-settings-to-projects";
    expect((await app.get(path, as(anna))).body).to.include({ state: "NONE", projects: 0 });
    expect((await app.post(path, as(anna))).status).to.equal(204);
    expect(await templates(engine)).to.deep.equal(["p* PROJECT", "c* PROJECT"]);
    expect(await templates("/project/acme/site")).to.deep.equal(["c* PROJECT"]);
    expect(await templates("/project/anna/search")).to.deep.equal([]);
    expect((await app.get(path, as(anna))).body).to.include({ state: "DONE", projects: 2 });
  });

  it("are changed and deleted by a project that they were applied to", async () => {
    const site = "/project/acme/site/tag-protection";
    const uuid = (await rules("/project/acme/site", "tag"))[0]?.["uuid"];
    const taken = as(anna, { tagTemplate: "c*", allowToCreate: "NO_ONE" });
    expect((await app.post(`${site}/create`, taken)).status).to.equal(422);
    const change = as(anna, { uuid, allowToCreate: "DEVELOPER" });
    const changed = await patch(`${site}/edit`, change);
    expect(changed.body).to.include({ uuid, allowToCreate: "DEVELOPER" });
    expect((await app.delete(`${site}/${uuid}`, as(anna))).status).to.equal(204);
    expect(await templates("/project/acme/site")).to.deep.equal([]);
  });

  it("replace the rule of a project for the same template, and stay when deleted above", async () => {
    const company = "/company/acme/tag-protection";
    const site = "/project/acme/site/tag-protection";
    const weaker = as(anna, { tagTemplate: "c*", allowToCreate: "DEVELOPER" });
    const uuid = (await app.post(`${site}/create`, weaker)).body["uuid"];
    await app.post(`${company}/apply-settings-to-projects`, as(anna));
    const above = (await rules("/company/acme", "tag")).find(
      (rule) => rule["tagTemplate"] === "c*",
    );
    await app.delete(`${company}/${above?.["uuid"]}`, as(anna));
    const [left] = await rules("/project/acme/site", "tag");
    expect(left).to.include({ uuid, allowToCreate: "ADMINS" });
    expect((await app.delete(`${site}/${uuid}`, as(anna))).status).to.equal(204);
  });
});
