import { expect } from "chai";
import { z } from "zod";

import { Alias } from "../../../src/events/core/ids.ts";
import { mount } from "../../../src/http/core/mount.ts";
import { route } from "../../../src/http/core/route.ts";
import type { Machinery } from "../../../src/http/core/serve.ts";
import { serveRoutes } from "../../support/app/machinery.ts";

const Text = z.object({ at: z.string() });

function at<P extends `/${string}`>(method: "get" | "post" | "put", path: P, params?: z.ZodObject) {
  return route({
    method,
    path,
    operationId: `${method}${path.replaceAll(/\W+(\w)/g, (_, letter: string) => letter.toUpperCase())}`,
    summary: "Say where this is",
    tag: "test",
    scope: "none",
    access: "anonymous",
    ...(params && { params }),
    reply: Text,
    handle: async ({ params: given }) => ({ at: `${path} ${JSON.stringify(given)}` }),
  });
}

const { url } = await serveRoutes([
  at(
    "get",
    "/project/{ownerAlias}/{projectAlias}",
    z.object({ ownerAlias: Alias, projectAlias: Alias }),
  ),
  // Longer and shorter paths between the two: their order must not depend on these.
  ...["issue", "label", "file", "tag", "release"].flatMap((name) => [
    at("get", `/project/{ownerAlias}/{projectAlias}/${name}`),
    at("get", `/project/{ownerAlias}/{projectAlias}/${name}/{id}/{other}`),
    at("get", `/${name}`),
  ]),
  // A shorter path between them must not keep the two apart when they are sorted.
  at("get", "/project/{ownerAlias}", z.object({ ownerAlias: Alias })),
  at("get", "/project/{projectUuid}/file-size", z.object({ projectUuid: z.uuid() })),
  at("get", "/user/{userAlias}", z.object({ userAlias: Alias })),
  at("get", "/user/me"),
  at("get", "/note/{text}", z.object({ text: z.string() })),
  at("post", "/user/me"),
  at("put", "/saml/{samlUuid}change-status/", z.object({ samlUuid: z.uuid() })),
]);

const uuid = "0f0e4dcb-5f0b-4f30-a49f-0a2b8c1d2e3f";
const get = async (path: string, method = "GET") => {
  const response = await fetch(url + path, { method });
  return {
    response,
    body: (await response.json().catch(() => undefined)) as Record<string, unknown>,
  };
};

describe("routing", () => {
  it("takes a literal segment before a parameter, whatever was declared first", async () => {
    expect((await get("/user/me")).body).to.deep.equal({ at: "/user/me {}" });
    expect((await get("/user/anna")).body["at"]).to.contain('{"userAlias":"anna"}');
  });

  it("answers every route under /rest-api as well, once", async () => {
    expect((await get("/rest-api/user/me")).body).to.deep.equal({ at: "/user/me {}" });
    expect((await get("/rest-api/rest-api/user/me")).response.status).to.equal(404);
  });

  it("lets the next route try when a parameter is not of its kind", async () => {
    expect((await get(`/project/${uuid}/file-size`)).body["at"]).to.contain("{projectUuid}");
    expect((await get("/project/anna/file-size")).body["at"]).to.contain("{projectAlias}");
  });

  it("takes a path with letters right after a parameter as printed", async () => {
    const { body } = await get(`/saml/${uuid}change-status/`, "PUT");
    expect(body["at"]).to.contain(uuid);
  });

  it("answers with and without a slash at the end", async () => {
    for (const path of ["/user/me", "/user/me/", "/rest-api/user/me/"]) {
      expect((await get(path)).body, path).to.deep.equal({ at: "/user/me {}" });
    }
    for (const end of ["change-status/", "change-status"]) {
      expect((await get(`/saml/${uuid}${end}`, "PUT")).response.status).to.equal(200);
    }
    expect((await get("/user/me/", "DELETE")).response.status).to.equal(405);
  });

  for (const path of [
    "/nothing",
    "/",
    "/user/me//",
    "/USER/me",
    "/user/..",
    "/user/%2e%2e%2fme",
    "/user/an%00na",
    "/note/a%00b",
    "/user/%zz",
    "/user/anna.git",
    `/user/${"a".repeat(300)}`,
  ]) {
    it(`answers 404 to ${path.slice(0, 40)}`, async () => {
      const { response, body } = await get(path);
      expect(response.status).to.equal(404);
      expect(response.headers.get("content-type")).to.equal("application/problem+json");
      expect(body).to.include({ status: 404, code: "route.not_found", title: "Not Found" });
    });
  }

  it("answers 405 with the methods there are to another method", async () => {
    const { response, body } = await get("/user/me", "DELETE");
    expect(response.status).to.equal(405);
    expect(response.headers.get("allow")).to.equal("GET, HEAD, OPTIONS, POST");
    expect(body["code"]).to.equal("route.method_not_allowed");
  });

  it("lists the methods to OPTIONS and leaves the body out for HEAD", async () => {
    const options = await get("/user/me", "OPTIONS");
    expect(options.response.status).to.equal(204);
    expect(options.response.headers.get("allow")).to.equal("GET, HEAD, OPTIONS, POST");
    const head = await get("/user/me", "HEAD");
    expect(head.response.status).to.equal(200);
    expect(head.body).to.equal(undefined);
  });

  it("refuses two routes at one place when it starts", () => {
    const twice = [at("get", "/user/me"), at("get", "/user/me")];
    expect(() => mount(twice, {} as Machinery)).to.throw("two routes at get /user/me");
  });
});
