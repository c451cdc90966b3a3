import { expect } from "chai";
import { ProjectId } from "../../../src/events/core/ids.ts";
import { ownerScopes } from "../../../src/http/access/owner-scope.ts";
import type { Route } from "../../../src/http/core/route.ts";
import { routes } from "../../../src/http/routes.ts";
import { withoutThatOfToday } from "../../support/access/of-today.ts";
import { pipelinesOf } from "../../support/agent/pipeline-app.ts";
import { startTestApp } from "../../support/app/app.ts";
import { eventually } from "../../support/app/eventually.ts";
import { expectOk } from "../../support/app/issue.ts";
import { givenWorld, pathOf, rightful, type Values } from "../../support/app/world.ts";

const app = await startTestApp({ workers: true });
const world = await givenWorld(app);
const { anna } = world;
const now = async () => String(await app.head());
const as = (asOf: unknown) => `?asOf=${encodeURIComponent(String(asOf))}`;
/** Of waits for workers, which may be busy with all that the world is made of. */
const limitMs = 45_000;

describe("every operation that answers of the past", () => {
  const past = routes.filter(({ asOf }) => asOf !== undefined);
  let values: Values = {};
  const shown = new Map<Route, readonly [number, unknown]>();
  let position = "";

  const send = async (route: Route, query = "") => {
    const path = pathOf(route, values) + query;
    const { status, body } = await app.get(path, { token: rightful(route, world).token });
    return [status, status === 200 ? withoutThatOfToday(body) : body["code"]] as const;
  };

  before(async () => {
    const own = { token: anna.token };
    const made = async (path: string, body: unknown) =>
      expectOk(await app.post(path, { ...own, body }));
    // Of one's own account.
    const given: Record<string, string> = { ...world.open, userAlias: anna.alias };
    const rules = [
      ["tag-protection", "tagProtectionUuid", { tagTemplate: "v*", allowToCreate: "ADMINS" }],
      [
        "environment-protection",
        "environmentProtectionUuid",
        { environmentTemplate: "prod", allowToDeploy: "ADMINS" },
      ],
      ["branch-protection", "branchProtectionUuid", { branchTemplate: "main" }],
      [
        "merge-request/approval/rule",
        "approvalRuleUuid",
        { targetBranch: "main", name: "None", minimalApprovals: 0, allowedApproversUuid: [] },
      ],
    ] as const;
    for (const ownerScope of ownerScopes) {
      const at = ownerScope.base.replaceAll(/\{(\w+)\}/g, (_, name: string) => given[name] ?? name);
      for (const [rule, parameter, body] of rules) {
        const { uuid } = await made(`${at}/${rule}/create`, body);
        if (ownerScope.resource === "project") given[parameter] = String(uuid);
      }
    }
    const at = "/project/anna/open";
    given["labelUuid"] = String((await made(`${at}/label`, { title: "bug" }))["id"]);
    given["id"] = String(
      (
        await made(`${at}/setting/webhook`, {
          url: "https://example.org/",
          events: { MERGE: true },
        })
      )["id"],
    );
    given["releaseUuid"] = String(
      (await made(`${at}/release`, { title: "One", tagName: "v1" }))["id"],
    );
    const ci = pipelinesOf(app, anna, {
      id: ProjectId.parse(given["projectUuid"]),
      ownerAlias: "anna",
      alias: "open",
    });
    await ci.commit({ ".forge-ci.yaml": "compile: {script: make}" });
    await eventually(
      async () => (await ci.pipelines()).some(({ status }) => status === "PENDING"),
      limitMs,
    );
    values = given;
  });

  it("are those of projects, what is in them, teams, companies and accounts", () => {
    expect(past.map(({ operationId }) => operationId).sort()).to.include.members([
      ...["getProject", "getIssue", "listIssues", "getMergeRequest", "listMergeRequests"],
      ...["getRelease", "listReleases", "getWebhook", "listWebhooks", "getPipeline"],
      ...["listPipelines", "getLabel", "listLabels", "listProjectMembers", "getMergeSettings"],
      ...["listProjectBranchProtections", "getTeam", "getCompany", "getUser", "getOwnUser"],
    ]);
  });

  it("answers of the newest position what it answers without", async () => {
    await eventually(async () => {
      position = await now();
      for (const route of past) shown.set(route, await send(route));
      expect(await now()).to.equal(position);
      return true;
    }, limitMs);
    for (const route of past) {
      expect(await send(route, as(position)), route.operationId).to.deep.equal(shown.get(route));
    }
  }).timeout(180_000);

  it("answers the same of that position after everything has changed", async () => {
    const own = { token: anna.token };
    const at = "/project/anna/open";
    const changes = [
      ["PUT", `${at}/issue/1/edit`, { title: "changed", description: "changed" }],
      ["PUT", `${at}/merge-request/1`, { title: "changed", description: "changed" }],
      ["PUT", `${at}/setting/merge`, { squash: "ALWAYS" }],
      ["DELETE", `${at}/label/${values["labelUuid"]}`],
      ["DELETE", `${at}/release/${values["releaseUuid"]}`],
      ["POST", `${at}/setting/webhook/${values["id"]}/delete`],
      ["DELETE", `${at}/tag-protection/${values["tagProtectionUuid"]}`],
      ["DELETE", `${at}/branch-protection/${values["branchProtectionUuid"]}`],
      ["POST", `${at}/member/invite`, { userAlias: "bob", role: "DEVELOPER" }],
      ["POST", `${at}/cicd/pipeline/1/cancel`],
      ["PUT", "/team/open-team", { title: "changed" }],
      ["PUT", "/company/open-company", { title: "changed" }],
    ] as const;
    for (const [method, path, body] of changes) {
      const { status, text } = await app.send(method, path, { ...own, ...(body && { body }) });
      expect(status, `${method} ${path} ${text}`).to.be.oneOf([200, 204]);
    }
    for (const route of past) {
      expect(await send(route, as(position)), route.operationId).to.deep.equal(shown.get(route));
    }
    const changed = new Set<string>();
    for (const route of past) {
      const today = await send(route);
      if (JSON.stringify(today) !== JSON.stringify(shown.get(route)))
        changed.add(route.operationId);
    }
    expect([...changed]).to.include.members([
      ...[
        "getIssue",
        "listIssues",
        "getMergeRequest",
        "getMergeSettings",
        "listLabels",
        "getRelease",
      ],
      ...["getWebhook", "listProjectTagProtections", "listProjectMembers", "getTeam", "getCompany"],
    ]);
  }).timeout(180_000);
});
