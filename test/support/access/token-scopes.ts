import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { handle } from "../../../src/commands/core/handle.ts";
import { accessToken } from "../../../src/commands/token/access-token.ts";
import { AccessTokenId } from "../../../src/events/core/ids.ts";
import { Scope } from "../../../src/events/token/access-token.ts";
import { hasScope } from "../../../src/http/access/gate.ts";
import type { Route } from "../../../src/http/core/route.ts";
import { routes } from "../../../src/http/routes.ts";
import { hashToken, newToken } from "../../../src/platform/key/token.ts";
import { startTestApp, type TestApp, type TestUser } from "../app/app.ts";
import { metadataFor } from "../app/history.ts";
import { givenWorld, nowhere, pathOf, type World } from "../app/world.ts";
import { commit, git, temporaryDirectory, tryGit, workingCopy } from "../git/git.ts";
import { chosen, type Extent, signatureOf } from "./sample.ts";

/** Requests under way at once. */
const atOnce = 16;

type Given = Readonly<{ app: TestApp; world: World }>;

/** Declares tests of what each scope opens; call it with `await` at the top of a file. */
export async function tokenScopes(extent: Extent): Promise<Given> {
  const app = await startTestApp();
  const given = { app, world: await givenWorld(app) };
  overOperations(given, extent);
  overGit(given, extent);
  return given;
}

async function transportToken(
  app: TestApp,
  user: TestUser,
  scopes: readonly Scope[],
): Promise<string> {
  const token = newToken("lftt");
  const command = {
    type: "CreateAccessToken",
    tokenId: AccessTokenId.parse(randomUUID()),
    userId: user.id,
    kind: "TRANSPORT",
    name: randomUUID(),
    scopes,
    tokenHash: hashToken(token),
    expiresAt: null,
    at: app.deps.now().toISOString(),
  } as const;
  const order = { id: user.id, command, metadata: metadataFor(randomUUID()) };
  await app.deps.visible((await handle(app.deps.store, accessToken, order)).position);
  return token;
}

/** What is wrong with how each route answers a token; nothing is changed: nothing is there. */
async function wronglyAnswered(
  { app, world }: Given,
  guarded: readonly Route[],
  token: string,
  scopes: readonly Scope[],
): Promise<string[]> {
  const wrong: string[] = [];
  const left = [...guarded];
  const opens = (route: Route) => route.scope === "none" || hasScope(new Set(scopes), route.scope);
  const work = async (): Promise<void> => {
    for (let route = left.pop(); route !== undefined; route = left.pop()) {
      const values = { ...nowhere(world.hidden), userAlias: "nobody", userUuid: randomUUID() };
      const at = pathOf(route, values);
      const { status, body } = await app.send(route.method.toUpperCase(), at, { token });
      const refused = status === 403 && body["code"] === "auth.scope_missing";
      if (refused === opens(route)) wrong.push(`${route.method} ${route.path}: ${status}`);
      if (refused && body["scope"] !== route.scope) wrong.push(`${route.path} names another scope`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return wrong;
}

function overOperations(given: Given, extent: Extent): void {
  const { app, world } = given;
  const { bob } = world;
  const withScope = routes.filter(
    ({ access, scope }) => scope !== "none" && access !== "basic" && access !== "anonymous",
  );
  const guarded = chosen(extent, withScope, signatureOf);

  describe(`a token over ${guarded.length} operations`, () => {
    for (const scope of Scope.options) {
      it(`opens with ${scope} what that scope opens, and nothing else`, async () => {
        const token = await app.givenToken(bob.id, [scope]);
        expect(await wronglyAnswered(given, guarded, token, [scope])).to.deep.equal([]);
      });
    }

    for (const scope of ["READ_REGISTRY", "WRITE_REGISTRY"] as const) {
      it(`opens as a transport token with ${scope} no more than that`, async () => {
        const token = await transportToken(app, bob, [scope]);
        expect(await wronglyAnswered(given, guarded, token, [scope])).to.deep.equal([]);
      });
    }

    it("does not open what needs a password", async () => {
      for (const route of routes.filter(({ access }) => access === "basic")) {
        const { status } = await app.send(route.method.toUpperCase(), pathOf(route, world.open), {
          token: bob.token,
        });
        expect(status, route.path).to.equal(403);
      }
    });
  });
}

/** Those that open something of git, and one of each other resource. */
const sampleOfGit: readonly Scope[] = [
  "PROJECT_READ",
  "PROJECT_WRITE",
  "PROJECT_EDIT",
  "USER_WRITE",
  "WRITE_REGISTRY",
];

function overGit({ app, world }: Given, extent: Extent): void {
  describe("git over HTTP", () => {
    const secretsOf = {
      read: ["PROJECT_READ"],
      write: ["PROJECT_WRITE"],
    } as const satisfies Record<string, readonly Scope[]>;
    const remote = (secret: string, login = world.anna.alias) => {
      const url = new URL(`/project/${world.anna.alias}/hidden.git`, app.url);
      Object.assign(url, { username: login, password: secret });
      return url.href;
    };
    let copy: string;
    before(async () => {
      copy = await workingCopy(await temporaryDirectory(), "copy");
      await commit(copy, "One", { "a.txt": "a" });
      await git(copy, "push", "--quiet", "--force", remote(world.anna.token), "main");
    });
    const fetches = async (secret: string) =>
      (await tryGit(copy, ["ls-remote", remote(secret)])).exitCode === 0;
    const pushes = async (secret: string, branch: string) =>
      (await tryGit(copy, ["push", "--quiet", remote(secret), `main:${branch}`])).exitCode === 0;

    for (const scope of extent === "whole" ? Scope.options : sampleOfGit) {
      const may = {
        fetch: hasScope(new Set([scope]), "PROJECT_READ"),
        push: (secretsOf.write as readonly Scope[]).includes(scope),
      };
      it(`takes a token with ${scope} to ${may.push ? "push" : may.fetch ? "fetch" : "nothing"}`, async () => {
        const token = await app.givenToken(world.anna.id, [scope]);
        expect(await fetches(token)).to.equal(may.fetch);
        expect(await pushes(token, `by-${scope.toLowerCase()}`)).to.equal(may.push);
      });
    }

    it("takes no transport token, and none in the query", async () => {
      const token = await transportToken(app, world.anna, ["READ_REGISTRY", "WRITE_REGISTRY"]);
      expect(await fetches(token)).to.equal(false);
      const at = `/project/${world.anna.alias}/hidden.git/info/refs?service=git-upload-pack`;
      for (const query of [`&token=${world.anna.token}`, `&access_token=${world.anna.token}`]) {
        expect((await app.get(at + query)).status).to.equal(401);
      }
    });
  });
}
