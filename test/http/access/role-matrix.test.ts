import { expect } from "chai";

import { neededRole, type Role, roles } from "../../../src/http/access/access.ts";
import { ownerScopes } from "../../../src/http/access/owner-scope.ts";
import type { Route } from "../../../src/http/core/route.ts";
import { routes } from "../../../src/http/routes.ts";
import { startTestApp, type TestUser } from "../../support/app/app.ts";
import {
  givenWorld,
  parametersOf,
  pathOf,
  sampleBody,
  type World,
} from "../../support/app/world.ts";

const app = await startTestApp();

let world: World;
/** One member of each role in everything that is private. */
const members = new Map<Role, TestUser>();
/** Ids of rules of what is public, by what they are about and where they are. */
const foreign = new Map<string, string>();

const newRules: Readonly<Record<string, unknown>> = {
  "tag-protection": { tagTemplate: "v*", allowToCreate: "ADMINS" },
  "environment-protection": { environmentTemplate: "prod", allowToDeploy: "ADMINS" },
  "branch-protection": { branchTemplate: "main" },
  "merge-request/approval/rule": {
    targetBranch: "main",
    name: "None",
    minimalApprovals: 0,
    allowedApproversUuid: [],
  },
};

before(async () => {
  world = await givenWorld(app);
  const { token } = world.anna;
  const at = (base: string, values: World["open"]) =>
    base.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? name);
  for (const role of roles) members.set(role, await app.givenUser(`member-${role.toLowerCase()}`));
  for (const { resource, base } of ownerScopes) {
    for (const [role, { alias: userAlias }] of members) {
      const path = `${at(base, world.hidden)}/member/invite`;
      const invited = await app.post(path, { token, body: { userAlias, role } });
      expect(invited.status, invited.text).to.equal(200);
    }
    for (const [rules, body] of Object.entries(newRules)) {
      const made = await app.post(`${at(base, world.open)}/${rules}/create`, { token, body });
      expect(made.status, made.text).to.equal(200);
      foreign.set(`${resource} ${rules}`, String(made.body["uuid"]));
    }
  }
});

const call = (route: Route, values: World["open"], user: TestUser, body = sampleBody(route)) =>
  app.send(route.method.toUpperCase(), pathOf(route, values), {
    token: user.token,
    ...(body === undefined ? {} : { body }),
  });

const member = (role: Role): TestUser => members.get(role) ?? expect.fail(`no ${role}`);

for (const route of routes) {
  const needed = neededRole(route.access);
  if (needed === undefined) continue;
  const { resource, role } = needed;
  const { method, path } = route;
  const rules = Object.keys(newRules).find((each) => path.includes(`/${each}/`));

  describe(`${method} ${path}, by role`, () => {
    for (const lower of roles.slice(0, roles.indexOf(role))) {
      it(`is refused to a ${lower} of a private ${resource}, leaving no trace`, async () => {
        const head = await app.head();
        const { status, body, text } = await call(route, world.hidden, member(lower));
        expect([status, body["code"]], text).to.deep.equal([403, "auth.role_missing"]);
        expect(await app.head()).to.equal(head);
      });
    }

    if (method === "get") {
      for (const enough of roles.slice(roles.indexOf(role))) {
        it(`is open to a ${enough} of a private ${resource}`, async () => {
          const { status, text } = await call(route, world.hidden, member(enough));
          expect(status, text).not.to.equal(403);
        });
      }
    }

    if (rules !== undefined && /\/edit$|Uuid\}$/.test(path)) {
      it("has nothing under the id of a rule of something else", async () => {
        const id = foreign.get(`${resource} ${rules}`) ?? "";
        const named = Object.fromEntries(parametersOf(route).map((name) => [name, id]));
        const edits = path.endsWith("/edit");
        const body = edits ? { ...(sampleBody(route) as object), uuid: id } : undefined;
        const head = await app.head();
        const answer = await call(route, { ...named, ...world.hidden }, world.anna, body);
        expect(answer.status, answer.text).to.equal(404);
        expect(await app.head()).to.equal(head);
      });
    }
  });
}
