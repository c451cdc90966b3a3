import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { settingsDefaults } from "../../../src/events/instance/settings.ts";
import { Scope } from "../../../src/events/token/access-token.ts";
import { neededRole, needsAdministrator } from "../../../src/http/access/access.ts";
import { hasScope } from "../../../src/http/access/gate.ts";
import type { Route } from "../../../src/http/core/route.ts";
import { routes } from "../../../src/http/routes.ts";
import { newToken } from "../../../src/platform/key/token.ts";
import { type Answer, startTestApp, type TestUser } from "../../support/app/app.ts";
import {
  givenWorld,
  nowhere,
  parametersOf,
  pathOf,
  rightful,
  sampleBody,
  sampleQuery,
  type Values,
  type World,
} from "../../support/app/world.ts";

const app = await startTestApp();

let world: World;
/** Where the log ends: nothing but what the tests are given makes it longer. */
let end: bigint | undefined;
before(async () => {
  world = await givenWorld(app);
  end = await app.head();
});

const tokens = new Map<string, string>();
/** A token of a user with all scopes that do not imply this one; made once. */
async function tokenWithout(scope: Scope, { id }: TestUser): Promise<string> {
  const key = `${id} ${scope}`;
  const others = Scope.options.filter((other) => !hasScope(new Set([other]), scope));
  const token = tokens.get(key) ?? (await app.givenToken(id, others));
  if (!tokens.has(key)) end = await app.head();
  tokens.set(key, token);
  return token;
}

const call = (route: Route, values: Values, token?: string, body: unknown = sampleBody(route)) =>
  app.send(route.method.toUpperCase(), pathOf(route, values) + sampleQuery(route), {
    ...(token === undefined ? {} : { token }),
    ...(body === undefined ? {} : { body }),
    ...(typeof body === "string" ? { headers: { "content-type": "application/json" } } : {}),
  });

/** Neither what is refused nor what is read leaves a trace in the log: looked up once a test, not for each answer. */
function leavesNoTrace(title: string, run: () => Promise<void>): void {
  it(title, async () => {
    await run();
    expect(await app.head(), "the end of the log").to.equal(end);
  });
}

/** A refusal, whole and well-formed. */
async function refuses(answer: Promise<Answer>, status: number, code?: string): Promise<Answer> {
  const { body, headers, text, status: actual } = await answer;
  expect(actual, text).to.equal(status);
  expect(headers.get("content-type")).to.equal("application/problem+json");
  expect(body).to.include({ status, type: "about:blank", requestId: headers.get("x-request-id") });
  expect(body["message"]).to.equal(body["detail"]);
  if (code !== undefined) expect(body["code"]).to.equal(code);
  return await answer;
}

for (const route of routes) {
  const { access, scope } = route;
  const needed = neededRole(access);
  const names = parametersOf(route);
  const { method, path } = route;

  describe(`${method} ${path}`, () => {
    if (access === "client" || access === "agent") {
      leavesNoTrace("opens nothing to a token", async () => {
        const answer = await call(route, {}, world.root.token);
        expect(answer.status, answer.text).to.be.within(400, 422);
      });
    } else if (access === "basic") {
      leavesNoTrace("is refused without a password, and to a token", async () => {
        await refuses(call(route, {}), 403, "auth.credentials_invalid");
        await refuses(call(route, {}, world.root.token), 403, "auth.credentials_invalid");
      });
    } else if (access !== "anonymous") {
      leavesNoTrace(
        "is refused without a token and with one that is malformed or unknown",
        async () => {
          const { anonymousWhen } = route;
          const none = anonymousWhen && settingsDefaults[anonymousWhen] ? [] : [undefined];
          for (const token of [...none, "", "x", `${world.anna.token}x`, newToken("lfat")]) {
            await refuses(call(route, world.open, token), 403, "auth.token_invalid");
          }
        },
      );
    }

    if (scope !== "none") {
      leavesNoTrace(`is refused to a token without ${scope}`, async () => {
        const token = await tokenWithout(scope, rightful(route, world));
        const answer = call(route, world.hidden, token);
        expect((await refuses(answer, 403, "auth.scope_missing")).body["scope"]).to.equal(scope);
      });
    }

    if (access === "admin") {
      it("needs a token with a scope", () => expect(scope).not.to.equal("none"));
    }

    if (needsAdministrator(access)) {
      leavesNoTrace("is refused to who is no administrator", async () => {
        await refuses(call(route, world.hidden, world.anna.token), 403, "auth.admin_required");
      });
    }

    if (needed !== undefined) {
      const { resource, role } = needed;

      leavesNoTrace(
        `is refused to strangers of a private ${resource}, administrators among them`,
        async () => {
          for (const stranger of [world.bob, ...(route.orAdministrator ? [] : [world.root])]) {
            await refuses(call(route, world.hidden, stranger.token), 403, "auth.role_missing");
          }
        },
      );

      leavesNoTrace(`has nothing in a ${resource} that does not exist`, async () => {
        await refuses(
          call(route, nowhere(world.hidden), world.anna.token),
          404,
          `${resource}.not_found`,
        );
        const foreign = { ...world.hidden, ownerAlias: world.bob.alias, projectUuid: randomUUID() };
        if (resource !== "project") return;
        await refuses(call(route, foreign, world.anna.token), 404, "project.not_found");
      });

      if (role !== "GUEST") {
        leavesNoTrace(`is refused to a guest, because it needs ${role}`, async () => {
          // Members may leave: the one to remove is another.
          const other = route.selfParam ? { [route.selfParam]: world.root.alias } : {};
          const answer = call(route, { ...world.open, ...other }, world.bob.token);
          expect((await refuses(answer, 403, "auth.role_missing")).body["role"]).to.equal(role);
        });
      }
    }

    for (const name of names) {
      leavesNoTrace(`has nothing at a ${name} that is no such thing`, async () => {
        for (const wrong of ["../x", "a/b", "-x\0", "%", "x".repeat(300), "a b"]) {
          const values = { ...world.open, [name]: wrong };
          const answer = await call(route, values, rightful(route, world).token);
          // An invalid name of a generic package is answered 422.
          const invalidName = /\/generic\//.test(path) && method === "put" ? [422] : [];
          expect([404, 405, ...invalidName], `${wrong}: ${answer.text}`).to.include(answer.status);
        }
      });
    }

    if (names.some((name) => /uuid$/i.test(name) && name !== "projectUuid")) {
      leavesNoTrace("has nothing under an id that nobody has", async () => {
        const unknown = names.filter((name) => /uuid$/i.test(name) && name !== "projectUuid");
        const ids = Object.fromEntries(unknown.map((name) => [name, randomUUID()]));
        await refuses(call(route, { ...world.open, ...ids }, rightful(route, world).token), 404);
      });
    }

    if (route.body !== undefined && route.form !== true) {
      it("documents a body that it takes", () => {
        expect(() => route.body?.parse(sampleBody(route))).not.to.throw();
      });
    }

    if (access === "client" && route.form === true) {
      leavesNoTrace("is refused to who is no application, as OAuth says", async () => {
        for (const [type, body] of [
          ["application/x-www-form-urlencoded", "client_id=x&client_secret=y"],
          ["application/json", "{}"],
        ] as const) {
          const headers = { "content-type": type };
          const answer = await app.send(method.toUpperCase(), path, { headers, body });
          expect([400, 401], answer.text).to.include(answer.status);
          expect(answer.body["error"]).to.match(/^invalid_(?:client|request)$/);
        }
      });
    }

    if (route.body !== undefined && access !== "basic" && route.form !== true) {
      const accepts = (value: unknown) => route.body?.safeParse(value).success === true;

      leavesNoTrace("is refused with a body that is not JSON or not of its form", async () => {
        const send = (body: unknown) => call(route, world.open, rightful(route, world).token, body);
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
      leavesNoTrace("is refused with a page that is no number", async () => {
        const list = (query: string) =>
          app.get(`${pathOf(route, world.open)}?${query}`, { token: rightful(route, world).token });
        for (const query of ["page=-1", "size=0", "size=x", "page=1.5", "size=-5"]) {
          await refuses(list(query), 422, "request.invalid");
        }
        const { status, body, headers } = await list("size=100000");
        // A list of something that the path's example does not name.
        const named =
          /\{(?:id|packageUuid|localId|hash|environmentId|runnerUuid|registryRepositoryUuid)\}/;
        if (status === 404 && named.test(path)) return;
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
