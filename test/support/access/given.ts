import { expect } from "chai";

import { type Role, roles } from "../../../src/http/access/access.ts";
import { ownerScopes } from "../../../src/http/access/owner-scope.ts";
import type { TestApp, TestUser } from "../app/app.ts";
import { givenWorld, type Values, type World } from "../app/world.ts";

/** A world with members of each role in everything. */
export type RoleWorld = World & Readonly<{ member: (role: Role) => TestUser }>;

/** A path of an owner scope, filled in. */
export const filledPath = (path: string, values: Values): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? name);

export async function givenRoleWorld(app: TestApp): Promise<RoleWorld> {
  const world = await givenWorld(app);
  const members = new Map<Role, TestUser>();
  for (const role of roles) members.set(role, await app.givenUser(`member-${role.toLowerCase()}`));
  for (const { base } of ownerScopes) {
    for (const [role, { alias: userAlias }] of members) {
      for (const values of [world.hidden, world.open]) {
        const order = { token: world.anna.token, body: { userAlias, role } };
        const invited = await app.post(`${filledPath(base, values)}/member/invite`, order);
        expect(invited.status, invited.text).to.equal(200);
      }
    }
  }
  const member = (role: Role): TestUser => members.get(role) ?? expect.fail(`no ${role}`);
  return { ...world, member };
}

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

/** The kind of rule that a path is about. */
export const ruleKindOf = (path: string): string | undefined =>
  Object.keys(newRules).find((kind) => path.includes(`/${kind}/`));

/** Ids of rules of what is public, by what they are rules of and what kind they are. */
export async function givenRules(app: TestApp, world: World): Promise<ReadonlyMap<string, string>> {
  const ids = new Map<string, string>();
  const { token } = world.anna;
  for (const { resource, base } of ownerScopes) {
    for (const [kind, body] of Object.entries(newRules)) {
      const at = `${filledPath(base, world.open)}/${kind}/create`;
      const made = await app.post(at, { token, body });
      expect(made.status, made.text).to.equal(200);
      ids.set(`${resource} ${kind}`, String(made.body["uuid"]));
    }
  }
  return ids;
}
