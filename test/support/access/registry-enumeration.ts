import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { registryTypes } from "../../../src/http/protocol/package/core/types.ts";
import { routes } from "../../../src/http/routes.ts";
import { startTestApp } from "../app/app.ts";
import { basicAuth } from "../app/basic-auth.ts";
import { ratio, settled } from "../app/measure.ts";
import { parametersOf, pathOf, sampleBody } from "../app/world.ts";
import { repositoriesAt } from "../client/registry.ts";
import { sampleOf } from "../package/sample-path.ts";
import type { Extent } from "./sample.ts";

/** Names of repositories that exist begin with the first, of others with the second. */
const [existing, missing] = ["here", "gone"];
const upload = "00000000-0000-4000-8000-000000000000";
const digest = `sha256:${"0".repeat(64)}`;

type Call = Readonly<{ method: string; path: string; headers: Readonly<Record<string, string>> }>;
const ofThisRequest = /^(?:date|x-request-id|ratelimit-\w+)$/;

const native = (type: string) => (name: string) =>
  `/registry/project/anna/forge/repository/${name}-${type}/`;

const images = [
  ...["GET", "HEAD", "PUT", "DELETE"].map((method) => [method, "manifests/latest"] as const),
  ...["GET", "HEAD", "DELETE"].map((method) => [method, `blobs/${digest}`] as const),
  ...["GET", "PATCH", "PUT", "DELETE"].map(
    (method) => [method, `blobs/uploads/${upload}`] as const,
  ),
  ...([["POST", "blobs/uploads/"]] as const),
  ...(["tags/list", `referrers/${digest}`] as const).map((path) => ["GET", path] as const),
];

async function givenRepositories() {
  const app = await startTestApp();
  const anna = await app.givenUser("anna");
  const stranger = await app.givenUser("stranger");
  await app.givenProject(anna, "forge");
  const { token } = anna;
  const at = repositoriesAt(app, "/project/anna/forge/repositories", token);
  const ofCompany = repositoriesAt(app, "/company/acme/repositories", token);
  let repositoryUuid = "";

  before(async () => {
    const body = { title: "Acme", alias: "acme", isPrivate: true };
    expect((await app.post("/company", { token, body })).status).to.equal(200);
    for (const type of [...registryTypes.keys(), "container"]) {
      ({ repositoryUuid } = await at.local(`${existing}-${type}`, type));
    }
    await ofCompany.local(`${existing}-npm`, "npm");
    await ofCompany.local(`${existing}-container`, "container");
    const url = "https://registry.example.org/npm/";
    await at.proxy(`${existing}-proxy`, "npm", { url });
    await at.virtual(`${existing}-virtual`, "npm", { includedRepositoryUuids: [] });
  });

  const callers: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    anonymous: {},
    "a stranger with a token": { authorization: `Bearer ${stranger.token}` },
    "a stranger with a password": { authorization: basicAuth("stranger", stranger.password) },
  };
  /** All that an answer says, but for what differs from request to request. */
  async function answerTo({ method, path, headers }: Call, names: readonly string[]) {
    const response = await fetch(app.url + path, { method, headers, redirect: "manual" });
    const without = (text: string): string =>
      names
        .reduce((left, name) => left.replaceAll(name, "NAME"), text)
        .replaceAll(/"requestId":"[^"]*"/g, "");
    const kept = [...response.headers].filter(([name]) => !ofThisRequest.test(name));
    const said = kept.map(([name, value]) => [name, without(value)]);
    return { status: response.status, headers: said, body: without(await response.text()) };
  }

  /** The answer where a repository is, and where none is, must not differ. @param placeOf of a name */
  async function expectSame(call: Call, placeOf: (name: string) => string): Promise<void> {
    const names = [existing, missing] as const;
    const [one, other] = await Promise.all(
      names.map((name) => answerTo({ ...call, path: placeOf(name) + call.path }, names)),
    );
    expect(one?.status, `${call.method} ${call.path}`).to.be.oneOf([401, 403, 405]);
    expect(one, `${call.method} ${call.path}`).to.deep.equal(other);
  }

  return { app, token, stranger, callers, repository: () => repositoryUuid, answerTo, expectSame };
}

type Given = Awaited<ReturnType<typeof givenRepositories>>;

/**
 * Declares that a caller who may not read a repository of packages does not learn whether it exists; call it with
 * `await` at the top of a file.
 */
export async function registryEnumeration(extent: Extent): Promise<void> {
  const given = await givenRepositories();
  repositories(given, extent);
  places(given);
  operations(given);
  if (extent === "whole") times(given);
}

function repositories({ app, token, callers, expectSame }: Given, extent: Extent): void {
  for (const [turn, [caller, own]] of Object.entries(callers).entries()) {
    describe(`a repository of packages, requested by ${caller},`, () => {
      for (const [index, [type, { calls, proxy = [] }]] of [...registryTypes].entries()) {
        // In a sample each type is requested by one of the callers.
        if (extent === "sample" && index % 3 !== turn) continue;
        it(`is answered like a missing one: ${type}`, async () => {
          for (const { method, path } of calls) {
            const sample = sampleOf(path);
            expect(sample, String(path)).to.match(path);
            await expectSame({ method, path: sample, headers: own }, native(type));
          }
          for (const { path } of type === "npm" ? proxy : []) {
            for (const kind of ["proxy", "virtual"]) {
              await expectSame({ method: "GET", path: sampleOf(path), headers: own }, native(kind));
            }
          }
          const browser = { ...own, accept: "text/html" };
          await expectSame({ method: "GET", path: "", headers: browser }, native(type));
        });
      }

      it("is answered like a missing one: images", async () => {
        for (const place of ["anna/forge", "company/acme"]) {
          for (const [method, path] of images) {
            const placeOf = (name: string) => `/v2/${place}/${name}-container/app/`;
            await expectSame({ method, path, headers: own }, placeOf);
          }
        }
      });

      it("is answered like a missing one: of a company", async () => {
        const placeOf = (name: string) => `/registry/company/acme/repository/${name}-npm/`;
        for (const path of ["left-pad", "-/v1/search"]) {
          await expectSame({ method: "GET", path, headers: own }, placeOf);
        }
      });

      it("is opened by no token that a missing one would not have", async () => {
        const lengthFor = async (name: string, headers = own) => {
          const scope = `repository:anna/forge/${name}-container/app:pull,push`;
          const answer = await fetch(`${app.url}/v2/token?scope=${scope}`, { headers });
          return ((await answer.json()) as { token: string }).token.length;
        };
        expect(await lengthFor(existing)).to.equal(await lengthFor(missing));
        const owner = { authorization: `Bearer ${token}` };
        expect(await lengthFor(existing, owner)).not.to.equal(await lengthFor(missing, owner));
      });
    });
  }
}

function places({ answerTo }: Given): void {
  describe("a project or company, requested by a package client without credentials,", () => {
    const bases = {
      packages: (name: string) => `/registry/project/anna/${name}/repository/here-npm/left-pad`,
      images: (name: string) => `/v2/anna/${name}/here-container/app/tags/list`,
      "packages of a company": (name: string) => `/registry/company/${name}/repository/here-npm/x`,
      "images of a company": (name: string) => `/v2/company/${name}/here-container/app/tags/list`,
    };
    for (const [what, placeOf] of Object.entries(bases)) {
      it(`is answered like a missing one: ${what}`, async () => {
        const names = [what.endsWith("company") ? "acme" : "forge", "zzzzz"];
        const call = { method: "GET", path: "", headers: {} };
        const [one, other] = await Promise.all(
          names.map((name) => answerTo({ ...call, path: placeOf(name) }, names)),
        );
        expect(one?.status).to.equal(401);
        expect(one).to.deep.equal(other);
      });
    }
  });
}

function operations({ app, stranger, repository }: Given): void {
  describe("the operations on a repository of packages, for those who may not read it,", () => {
    const named = /\{ownerAlias\}.*\{(?:registryR|r)epositoryUuid\}/;
    for (const route of routes.filter(({ path }) => named.test(path))) {
      it(`answer the same for a missing one: ${route.method} ${route.path}`, async () => {
        const ids = [repository(), randomUUID()];
        const sample = sampleBody(route);
        const answers = ids.flatMap((id) =>
          [undefined, stranger.token].map((by) => [id, by] as const),
        );
        const [anonymous, one, ...missingOnes] = await Promise.all(
          answers.map(async ([id, by]) => {
            const others = Object.fromEntries(parametersOf(route).map((name) => [name, id]));
            const values = { ...others, ownerAlias: "anna", projectAlias: "forge" };
            const answer = await app.send(route.method.toUpperCase(), pathOf(route, values), {
              ...(by !== undefined && { token: by }),
              ...(sample === undefined ? {} : { body: sample }),
            });
            const text = answer.text.replaceAll(id, "ID");
            return [answer.status, text.replaceAll(/"requestId":"[^"]*"/g, "")];
          }),
        );
        expect(one?.[0]).to.equal(403);
        expect([anonymous, one]).to.deep.equal(missingOnes);
      });
    }
  });
}

function times({ app, callers }: Given): void {
  describe("a repository of packages that a caller may not read", () => {
    const bounds = [0.4, 2.5] as const;
    const paths = {
      packages: (name: string) => `${native("npm")(name)}left-pad`,
      images: (name: string) => `/v2/anna/forge/${name}-container/app/manifests/latest`,
    };
    for (const [what, pathOfName] of Object.entries(paths)) {
      for (const [caller, headers] of Object.entries(callers).slice(0, 2)) {
        it(`takes as long as a missing one, as far as can be measured: ${what}, ${caller}`, async () => {
          const get = (name: string) => async () =>
            (await fetch(app.url + pathOfName(name), { headers })).arrayBuffer();
          const measure = () => ratio(get(existing), get(missing), 31);
          expect(await settled(measure, bounds)).to.be.within(...bounds);
        });
      }
    }
  });
}
