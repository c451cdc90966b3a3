import { expect } from "chai";

import { neededRole, type Role, roles } from "../../src/http/access/access.ts";
import { ownerScopes } from "../../src/http/access/owner-scope.ts";
import type { Route } from "../../src/http/core/route.ts";
import { routes } from "../../src/http/routes.ts";
import { startTestApp, type TestUser } from "../support/app/app.ts";
import { givenWorld, pathOf, sampleBody, type Values, type World } from "../support/app/world.ts";

// Family 17: more rights than were given.
const app = await startTestApp();

let world: World;
const members = new Map<Role, TestUser>();
const at = (base: string, values: Values) =>
  base.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? name);
const member = (role: Role): TestUser => members.get(role) ?? expect.fail(`no ${role}`);

before(async () => {
  world = await givenWorld(app);
  for (const role of roles) members.set(role, await app.givenUser(`member-${role.toLowerCase()}`));
  for (const { base } of ownerScopes) {
    for (const [role, { alias: userAlias }] of members) {
      for (const values of [world.hidden, world.open]) {
        const order = { token: world.anna.token, body: { userAlias, role } };
        const invited = await app.post(`${at(base, values)}/member/invite`, order);
        expect(invited.status, invited.text).to.equal(200);
      }
    }
  }
});

const send = (route: Route, values: Values, token?: string, body = sampleBody(route)) =>
  app.send(route.method.toUpperCase(), pathOf(route, values), {
    ...(token === undefined ? {} : { token }),
    ...(body === undefined ? {} : { body }),
  });

for (const route of routes) {
  const needed = neededRole(route.access);
  if (needed === undefined) continue;
  const lower = roles.slice(0, roles.indexOf(needed.role));

  describe(`${route.method} ${route.path}, which needs ${needed.role},`, () => {
    it("is closed to nobody, strangers, administrators and lower roles, leaving no trace", async () => {
      const head = await app.head();
      const { bob, root } = world;
      // Members may leave: the one to remove is another.
      const elsewhere = route.selfParam === undefined ? {} : { [route.selfParam]: root.alias };
      const hidden = { ...world.hidden, ...elsewhere };
      const open = { ...world.open, ...elsewhere };
      const administrators = route.orAdministrator || route.selfParam ? [] : [root.token];
      const strangers = [undefined, bob.token, ...administrators];
      const refused = [
        ...strangers.map((token) => send(route, hidden, token)),
        ...lower.map((role) => send(route, hidden, member(role).token)),
        ...(lower.length > 0 ? strangers.map((token) => send(route, open, token)) : []),
        ...lower.map((role) => send(route, open, member(role).token)),
      ];
      for (const { status, text } of await Promise.all(refused)) expect(status, text).to.equal(403);
      expect(await app.head()).to.equal(head);
    });

    if (route.method === "get") {
      it("is open to its role and higher ones, to the owner, private or not", async () => {
        const users = [...roles.slice(roles.indexOf(needed.role)).map(member), world.anna];
        const requests = users.flatMap(({ token }) => [
          send(route, world.hidden, token),
          send(route, world.open, token),
        ]);
        for (const { status, text } of await Promise.all(requests)) {
          expect(status, text).not.to.equal(403);
        }
      });
    }
  });
}

describe("a role", () => {
  const wrong = ["OWNER", "ROOT", "admin", "ADMIN ", "", null, 3, true, ["ADMIN"], { id: "ADMIN" }];

  for (const { base, noun } of ownerScopes) {
    it(`outside the known ones is refused in a ${noun}`, async () => {
      const head = await app.head();
      const path = `${at(base, world.hidden)}/member`;
      for (const role of wrong) {
        const body = { userAlias: "bob", role };
        const invited = await app.post(`${path}/invite`, { token: world.anna.token, body });
        const member = { userAlias: "member-guest", role };
        const changed = await app.put(`${path}/role`, { token: world.anna.token, body: member });
        expect([invited.status, changed.status], JSON.stringify(role)).to.deep.equal([422, 422]);
      }
      expect(await app.head()).to.equal(head);
    });

    it(`is not raised by who has it in a ${noun}`, async () => {
      const head = await app.head();
      const path = `${at(base, world.hidden)}/member`;
      for (const role of roles.filter((each) => each !== "ADMIN")) {
        const { alias: userAlias, token } = member(role);
        const body = { userAlias, role: "ADMIN" };
        expect((await app.put(`${path}/role`, { token, body })).status).to.equal(403);
        expect((await app.post(`${path}/invite`, { token, body })).status).to.equal(403);
        expect((await app.delete(`${path}/anna`, { token })).status).to.equal(403);
      }
      expect(await app.head()).to.equal(head);
    });
  }

  it("in a project is none in the team and the company above it", async () => {
    const { anna, hidden } = world;
    const inside = await app.givenUser("inside");
    const body = { title: "In", alias: "inside-team", ownerAlias: hidden["teamAlias"] };
    const made = await app.post("/project", {
      token: anna.token,
      body: { ...body, ownerAliasType: "TEAM" },
    });
    expect(made.status, made.text).to.equal(200);
    const path = `/project/${hidden["teamAlias"]}/inside-team/member/invite`;
    const order = { token: anna.token, body: { userAlias: "inside", role: "ADMIN" } };
    expect((await app.post(path, order)).status).to.equal(200);
    for (const above of [`/team/${hidden["teamAlias"]}`, `/company/${hidden["companyAlias"]}`]) {
      expect((await app.get(above, { token: inside.token })).status).to.equal(403);
    }
  });
});

describe("fields that a request does not define", () => {
  const more = {
    ...{
      admin: true,
      isAdmin: true,
      is_admin: true,
      role: "ADMIN",
      ownerId: "x",
      createdById: "x",
    },
    ...{ locked: false, blocked: false, confirmed: true, private: false, deletedAt: null },
  };
  const settings = (alias: string) => `/project/${alias}/mine/setting/change-setting`;

  it("give no rights and change nothing else", async () => {
    const eve = await app.givenUser("eve");
    await app.givenProject(eve, "mine");
    const before = (await app.get("/project/eve/mine", { token: eve.token })).body;
    const body = { title: "mine", ownerAlias: "anna", alias: "other", isPrivate: false, ...more };
    const changed = await app.put(settings("eve"), { token: eve.token, body });
    expect(changed.status, changed.text).to.equal(200);
    expect(changed.body).to.deep.equal(before);
    const profile = await app.put("/user/profile", {
      token: eve.token,
      body: { name: "E", ...more },
    });
    expect(profile.status, profile.text).to.equal(200);
    expect((await app.get("/admin/settings", { token: eve.token })).status).to.equal(403);
    const head = await app.head();
    expect((await app.put(settings("eve"), { token: world.bob.token, body })).status).to.equal(403);
    expect(await app.head()).to.equal(head);
  });
});
