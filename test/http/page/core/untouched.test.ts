import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import Koa from "koa";
import { z } from "zod";
import { page } from "../../../../src/http/page/core/route.ts";
import { servePages } from "../../../../src/http/page/core/serve.ts";
import { pages } from "../../../../src/http/page/html-pages.ts";
import { registryTypes } from "../../../../src/http/protocol/package/core/types.ts";
import { startTestApp } from "../../../support/app/app.ts";
import { exampleOf } from "../../../support/app/example-path.ts";

const app = await startTestApp();
const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
const uv =
  "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.01";

/** Paths of every read at a repository of packages, and of git, LFS and images. */
function paths(): readonly string[] {
  const below = [...registryTypes.values()].flatMap(({ calls, proxy = [] }) => {
    const reads = calls.filter(({ method }) => method === "GET");
    return [...reads, ...proxy].map(({ path }) => exampleOf(path));
  });
  const native = ["project/anna/forge", "company/acme", "instance"].flatMap((owner) =>
    below.map((rest) => `/registry/${owner}/repository/one/${rest}`),
  );
  const others = ["/v2/", "/v2/_catalog", "/project/anna/forge.git/info/lfs/locks"];
  return [...new Set([...native, ...others])].flatMap((path) => [path, `${path}/`]);
}

/** At the paths of some of them, with other parameters. */
const beside = page({
  operationId: "showNever",
  method: "get",
  path: "/registry/project/{ownerAlias}/{projectAlias}/repository/{repository}/{rest}",
  access: "anonymous",
  besides: true,
  params: z.object({ rest: z.literal("never") }),
  handle: async () => expect.fail("it is shown"),
});

describe("the pages", () => {
  it("leave a request that they do not answer as it came", async () => {
    const never = () => expect.fail("no page is asked");
    const arrived: unknown[] = [];
    const koa = new Koa();
    koa.use(
      servePages([...pages, beside], {
        deps: {
          ...app.deps,
          authenticate: { caller: never, basic: never, password: never } as never,
        },
        limit: never,
        operationClients: never as never,
        idempotency: never as never,
      }),
    );
    koa.use((ctx) => {
      const { url, state, response } = ctx;
      arrived.push({
        url,
        state: { ...state },
        headers: { ...response.headers },
        params: ctx["params"],
      });
      ctx.status = 204;
    });
    const server = koa.listen(0, "127.0.0.1");
    await once(server, "listening");
    try {
      const { port } = server.address() as AddressInfo;
      const sent: unknown[] = [];
      for (const path of paths()) {
        for (const accept of [browser, uv]) {
          sent.push({ url: path, state: {}, headers: {}, params: undefined });
          const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { accept } });
          expect(answer.status, path).to.equal(204);
        }
      }
      expect(arrived).to.deep.equal(sent);
    } finally {
      server.close();
    }
  });
});
