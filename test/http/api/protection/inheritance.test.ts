import { expect } from "chai";

import { type Send, startTestApp } from "../../../support/app/app.ts";

/**
 * What a project takes over from the company and the team above it: every kind of rule under every
 * position of the switches, each kind following its own switch alone.
 */
const app = await startTestApp();
const anna = await app.givenUser("anna");
const as = (body?: unknown): Send => ({ token: anna.token, body });

const kinds = {
  branch: {
    path: "branch-protection",
    list: "branchProtectionApiModelList",
    field: "branchTemplate",
    more: { allowedToPush: "ADMINS" },
    switch: "allowImportBranchProtection",
  },
  environment: {
    path: "environment-protection",
    list: "restEnvironmentProtectionModelList",
    field: "environmentTemplate",
    more: { allowToDeploy: "ADMINS" },
    switch: "allowImportEnvironmentProtection",
  },
  tag: {
    path: "tag-protection",
    list: "restTagProtectionModelList",
    field: "tagTemplate",
    more: { allowToCreate: "NO_ONE" },
    switch: "allowImportTagProtection",
  },
  approval: {
    path: "merge-request/approval/rule",
    list: "restMergeRequestApprovalRuleList",
    field: "name",
    more: { targetBranch: "main", minimalApprovals: 0, allowedApproversUuid: [] },
    switch: "allowImportMrApprovalConfigAndRules",
  },
} as const;
type Kind = keyof typeof kinds;

const company = "/company/above";
const team = "/team/between";
const project = "/project/between/below";
const configuration = "merge-request/approval/configuration";

async function ok(method: "POST" | "PATCH", path: string, body: unknown): Promise<void> {
  const answer = await app.send(method, path, as(body));
  expect(answer.status, `${path}: ${answer.text}`).to.equal(200);
}

async function rulesAt(place: string, kind: Kind): Promise<readonly string[]> {
  const { path, list, field } = kinds[kind];
  const { body } = await app.get(`${place}/${path}`, as());
  const rules = (body["_embedded"] as Record<string, Record<string, string>[]>)[list] ?? [];
  return rules.map((rule) => rule[field] ?? "").sort();
}

async function turn(place: string, switched: Partial<Record<Kind, boolean>>): Promise<void> {
  const all = Object.entries(kinds).map(([kind, { switch: name }]) => [
    name,
    switched[kind as Kind] ?? false,
  ]);
  await ok("POST", `${place}/setting/import`, Object.fromEntries(all));
}

before(async () => {
  const common = { isPrivate: true };
  await ok("POST", "/company", { title: "Above", alias: "above", ...common });
  const owned = { ownerAlias: "above", ownerAliasType: "COMPANY" };
  await ok("POST", "/team", { title: "Between", alias: "between", ...owned, ...common });
  const inTeam = { ownerAlias: "between", ownerAliasType: "TEAM" };
  await ok("POST", "/project", { title: "Below", alias: "below", ...inTeam, ...common });
  for (const place of [company, team, project]) {
    for (const { path, field, more } of Object.values(kinds)) {
      await ok("POST", `${place}/${path}/create`, {
        [field]: `of-${place.split("/")[1]}`,
        ...more,
      });
    }
  }
  await ok("PATCH", `${company}/${configuration}/edit`, { preventAuthorApproving: true });
  await ok("PATCH", `${team}/${configuration}/edit`, { preventCommitterApproving: true });
});

describe("what a project takes over", () => {
  const onOff = [false, true];
  for (const kind of Object.keys(kinds) as Kind[]) {
    for (const ofCompany of onOff) {
      for (const ofTeam of onOff) {
        const from = `${ofCompany ? "its company" : ""}${ofTeam ? " its team" : ""}`;
        it(`is, of rules of ${kind}, its own and those of: ${from || "nobody"}`, async () => {
          await turn(company, { [kind]: ofCompany });
          await turn(team, { [kind]: ofTeam });
          for (const each of Object.keys(kinds) as Kind[]) {
            const expected = [
              ...(each === kind && ofCompany ? ["of-company"] : []),
              "of-project",
              ...(each === kind && ofTeam ? ["of-team"] : []),
            ];
            expect(await rulesAt(project, each), each).to.deep.equal(expected);
            expect(await rulesAt(team, each), `${each} of the team`).to.deep.equal(["of-team"]);
          }
        });
      }
    }
  }

  for (const ofCompany of onOff) {
    for (const ofTeam of onOff) {
      it(`is the stricter of configurations: company ${ofCompany}, team ${ofTeam}`, async () => {
        await turn(company, { approval: ofCompany });
        await turn(team, { approval: ofTeam });
        const { body } = await app.get(`${project}/${configuration}`, as());
        expect(body).to.include({
          preventAuthorApproving: ofCompany,
          preventCommitterApproving: ofTeam,
        });
      });
    }
  }

  it("is its own configuration once it has one, begun from what it took over", async () => {
    await turn(company, {});
    await turn(team, { approval: true });
    await ok("PATCH", `${project}/${configuration}/edit`, { canOverrideApprovals: true });
    await turn(team, {});
    const { body } = await app.get(`${project}/${configuration}`, as());
    expect(body).to.include({ canOverrideApprovals: true, preventCommitterApproving: true });
  });
});
