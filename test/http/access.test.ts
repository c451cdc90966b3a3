import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { Scope } from "../../src/events/access-token.ts";
import { neededRole } from "../../src/http/access.ts";
import { exampleOf } from "../../src/http/example.ts";
import { hasScope } from "../../src/http/gate.ts";
import { isSchema, schemaWriter } from "../../src/http/json-schema.ts";
import type { Route } from "../../src/http/route.ts";
import { routes } from "../../src/http/routes.ts";
import { newToken } from "../../src/platform/token.ts";
import { type Answer, startTestApp, type TestUser } from "../support/app.ts";

const app = await startTestApp();

let anna: TestUser;
let bob: TestUser;
let root: TestUser;
/** What paths name, private and public, all of it anna's. */
let hidden: Values;
let open: Values;

before(async () => {
  anna = await app.givenUser("anna");
  bob = await app.givenUser("bob");
  root = await app.givenUser("root", { admin: true });
  hidden = await givenAll("hidden", true);
  open = await givenAll("open", false);
});

/** What a path's parameters stand for; the rest comes from the declared schema. */
type Values = Readonly<Record<string, string>>;

async function givenAll(name: string, isPrivate: boolean): Promise<Values> {
  const project = await app.givenProject(anna, name, { private: isPrivate });
  for (const kind of ["team", "company"]) {
    const body = { title: name, alias: `${name}-${kind}`, isPrivate };
    expect((await app.post(`/${kind}`, { token: anna.token, body })).status).to.equal(200);
  }
  return {
    ownerAlias: anna.alias,
    projectAlias: name,
    projectUuid: project.id,
    teamAlias: `${name}-team`,
    companyAlias: `${name}-company`,
  };
}

/** The same with nothing at the end of it. */
const nowhere = (values: Values): Values => ({
  ...values,
  projectAlias: "nowhere",
  projectUuid: randomUUID(),
  teamAlias: "nowhere",
  companyAlias: "nowhere",
});

const namesOf = (route: Route) =>
  [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);

function pathOf(route: Route, values: Values): string {
  const known: Values = { userAlias: bob.alias, userUuid: bob.id, ...values };
  return route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(known[name] ?? String(sample(route, name))),
  );
}

function sample(route: Route, name: string): unknown {
  const writer = schemaWriter();
  const { properties } = route.params ? writer.write(route.params, "input") : {};
  const schema = isSchema(properties) ? properties[name] : undefined;
  return isSchema(schema) ? exampleOf(schema, writer.components(), name) : name;
}

function sampleBody(route: Route): unknown {
  if (route.body === undefined) return undefined;
  const writer = schemaWriter();
  return exampleOf(writer.write(route.body, "input"), writer.components());
}

const call = (route: Route, values: Values, token?: string, body: unknown = sampleBody(route)) =>
  app.send(route.method.toUpperCase(), pathOf(route, values), {
    ...(token === undefined ? {} : { token }),
    ...(body === undefined ? {} : { body }),
    ...(typeof body === "string" ? { headers: { "content-type": "application/json" } } : {}),
  });

/** A refusal, whole and well-formed, of something that left no trace in the log. */
async function refuses(answer: Promise<Answer>, status: number, code?: string): Promise<Answer> {
  const before = await app.head();
  const { body, headers, text, status: actual } = await answer;
  expect(actual, text).to.equal(status);
  expect(headers.get("content-type")).to.equal("application/problem+json");
  expect(body).to.include({ status, type: "about:blank", requestId: headers.get("x-request-id") });
  expect(body["message"]).to.equal(body["detail"]);
  if (code !== undefined) expect(body["code"]).to.equal(code);
  expect(await app.head()).to.equal(before);
  return await answer;
}

/** Who may call the route, as far as roles go. */
const rightful = (route: Route) => (route.access === "admin" ? root : anna);

for (const route of routes) {
  const { access, scope } = route;
  const needed = neededRole(access);
  const names = namesOf(route);
  const { method, path } = route;

  describe(`${method} ${path}`, () => {
    if (access === "basic") {
      it("is refused without a password, and to a token", async () => {
        await refuses(call(route, {}), 403, "auth.credentials_invalid");
        await refuses(call(route, {}, root.token), 403, "auth.credentials_invalid");
      });
    } else if (access !== "anonymous") {
      it("is refused without a token and with one that is malformed or unknown", async () => {
        for (const token of [undefined, "", "x", `${anna.token}x`, newToken("lfat")]) {
          await refuses(call(route, open, token), 403, "auth.token_invalid");
        }
      });
    }

    if (scope !== "none") {
      it(`is refused to a token without ${scope}`, async () => {
        const others = Scope.options.filter((other) => !hasScope(new Set([other]), scope));
        const token = await app.givenToken(rightful(route).id, others);
        const answer = call(route, hidden, token);
        expect((await refuses(answer, 403, "auth.scope_missing")).body["scope"]).to.equal(scope);
      });
    }

    if (access === "admin") {
      it("is refused to who is no administrator", async () => {
        await refuses(call(route, hidden, anna.token), 403, "auth.admin_required");
      });
    }

    if (needed !== undefined) {
      const { resource, role } = needed;

      it(`is refused to strangers of a private ${resource}, administrators among them`, async () => {
        for (const stranger of [bob, root]) {
          await refuses(call(route, hidden, stranger.token), 403, "auth.role_missing");
        }
      });

      it(`has nothing in a ${resource} that does not exist`, async () => {
        await refuses(call(route, nowhere(hidden), anna.token), 404, `${resource}.not_found`);
        const foreign = { ...hidden, ownerAlias: bob.alias, projectUuid: randomUUID() };
        if (resource !== "project") return;
        await refuses(call(route, foreign, anna.token), 404, "project.not_found");
      });

      if (role !== "GUEST") {
        it(`is refused to a guest, because it needs ${role}`, async () => {
          const answer = call(route, open, bob.token);
          expect((await refuses(answer, 403, "auth.role_missing")).body["role"]).to.equal(role);
        });
      }
    }

    for (const name of names) {
      it(`has nothing at a ${name} that is no such thing`, async () => {
        for (const wrong of ["..", "a/b", "-x\0", "%", "x".repeat(300), "a b"]) {
          const values = { ...open, [name]: wrong };
          // A literal `..` is taken out of the path by every client; what is left is another path.
          const answer = await call(route, values, rightful(route).token);
          expect([404, 405], `${wrong}: ${answer.text}`).to.include(answer.status);
        }
      });
    }

    if (names.some((name) => /uuid$/i.test(name) && name !== "projectUuid")) {
      it("has nothing under an id that nobody has", async () => {
        const unknown = names.filter((name) => /uuid$/i.test(name) && name !== "projectUuid");
        const ids = Object.fromEntries(unknown.map((name) => [name, randomUUID()]));
        await refuses(call(route, { ...open, ...ids }, rightful(route).token), 404);
      });
    }

    if (route.body !== undefined) {
      it("documents a body that it takes", () => {
        expect(() => route.body?.parse(sampleBody(route))).not.to.throw();
      });
    }

    if (route.body !== undefined && access !== "basic") {
      const accepts = (value: unknown) => route.body?.safeParse(value).success === true;

      it("is refused with a body that is not JSON or not of its form", async () => {
        const send = (body: unknown) => call(route, open, rightful(route).token, body);
        await refuses(send("{"), 400, "body.not_json");
        for (const body of [[], "[1]", '"text"', "5", {}]) {
          const value: unknown = typeof body === "string" ? JSON.parse(body) : body;
          if (accepts(value)) continue;
          const { errors } = (await refuses(send(body), 422, "request.invalid")).body;
          expect(errors).to.be.an("array").that.is.not.empty;
        }
      });
    }

    if (route.list !== undefined) {
      it("is refused with a page that is no number", async () => {
        const list = (query: string) =>
          app.get(`${pathOf(route, open)}?${query}`, { token: rightful(route).token });
        for (const query of ["page=-1", "size=0", "size=x", "page=1.5", "size=-5"]) {
          await refuses(list(query), 422, "request.invalid");
        }
        const { status, body, headers } = await list("size=100000");
        // A list of something that the path's example does not name.
        if (status === 404 && names.includes("id")) return;
        expect(status).to.equal(200);
        expect(body["page"]).to.include({ size: 200, number: 0 });
        expect(body["_embedded"])
          .to.have.property(route.list ?? "")
          .that.is.an("array");
        expect(headers.get("x-total-count")).to.match(/^\d+$/);
      });
    }
  });
}
