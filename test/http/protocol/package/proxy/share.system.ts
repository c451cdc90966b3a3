import { once } from "node:events";
import { get as httpGet, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { expect } from "chai";

import { documentBudget } from "../../../../../src/http/protocol/package/proxy/document-budget.ts";
import { downloadBudget } from "../../../../../src/http/protocol/package/proxy/download-budget.ts";
import { asCaller } from "../../../../../src/platform/caller.ts";
import { eventually } from "../../../../support/app/eventually.ts";
import { startRegistryApp } from "../../../../support/client/registry.ts";
import { startUpstream } from "../../../../support/client/upstream.ts";

const upstream = await startUpstream();
const config = { packageFileBytesMax: 64 * 1024 ** 2 };
const { app, anna, at } = await startRegistryApp({ reachesLoopback: true, config });
const base = "/registry/project/anna/forge/repository";
const authorization = `Bearer ${anna.token}`;
const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(app.url + path, { headers: { authorization, ...headers } });
const large = Buffer.alloc(600_000, "large");

/** An answer that is not read on a connection of its own, whose buffers are small. */
async function begun(path: string, token: string): Promise<IncomingMessage> {
  const headers = { authorization: `Bearer ${token}` };
  const request = httpGet(`${app.url}${base}/${path}`, { agent: false, headers });
  const [answer] = (await once(request, "response")) as [IncomingMessage];
  return answer;
}

/** A package of the other registry without a version. */
function serve(name: string, description: string): void {
  upstream.answers.set(`/${name}`, (_request, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ name, description, "dist-tags": {}, versions: {} }));
  });
}

async function givenReader(alias: string) {
  const user = await app.givenUser(alias);
  const body = { userAlias: alias, role: "DEVELOPER" };
  const invited = await app.post("/project/anna/forge/member/invite", { token: anna.token, body });
  expect(invited.status, invited.text).to.equal(200);
  return user;
}

describe("what callers of proxies share", () => {
  it("requests other things while one name alone fails", async () => {
    const url = { url: upstream.url, isCaching: true, metadataRetrievalIntervalSeconds: 0 };
    await at.proxy("partly", "npm", url);
    serve("moving", "one");
    upstream.answers.set("/failing", (_request, response) => response.writeHead(400).end());
    expect((await get(`${base}/partly/moving`)).status).to.equal(200);
    expect((await get(`${base}/partly/failing`)).status).to.equal(502);
    serve("moving", "another");
    const served = await (await get(`${base}/partly/moving`)).text();
    expect(served).to.include("another");
    // A document that fails is served from the copy, and not requested again at once.
    upstream.answers.set("/moving", (_request, response) => response.writeHead(400).end());
    const before = upstream.requestsFor("/moving").length;
    for (let time = 0; time < 2; time += 1) {
      expect(await (await get(`${base}/partly/moving`)).text()).to.equal(served);
    }
    expect(upstream.requestsFor("/moving")).to.have.length(before + 1);
  });

  it("pauses a registry that does not answer for several names, not for one", async () => {
    const url = { url: upstream.url, isCaching: true, metadataRetrievalIntervalSeconds: 0 };
    await at.proxy("broken", "npm", url);
    const read = async (name: string) => (await get(`${base}/broken/${name}`)).status;
    serve("steady", "one");
    expect(await read("steady")).to.equal(200);
    for (const name of ["broken1", "broken2", "broken3", "broken4"]) {
      upstream.answers.set(`/${name}`, (_request, response) => response.writeHead(500).end());
    }
    const upstreamRequests = () => upstream.requestsFor("/steady").length;
    for (let time = 0; time < 3; time += 1) expect(await read("broken1")).to.equal(502);
    expect(await read("steady")).to.equal(200);
    expect(upstreamRequests(), "one name fails").to.equal(2);
    for (const name of ["broken2", "broken3", "broken4"]) expect(await read(name)).to.equal(502);
    expect(await read("steady")).to.equal(200);
    expect(upstreamRequests(), "several names fail").to.equal(2);
    serve("broken4", "well again");
    expect(await read("broken4"), "what is not kept is asked for").to.equal(200);
    expect(await read("steady")).to.equal(200);
    expect(upstreamRequests(), "the registry answers again").to.equal(3);
  });

  it("reads few documents of one caller at a time, the others after them", async () => {
    const dora = await givenReader("dora");
    await at.proxy("npm", "npm", { url: upstream.url, isCaching: true });
    const held: ServerResponse[] = [];
    const heldNames = Array.from({ length: 20 }, (_, n) => `held${n}`);
    for (const name of heldNames) {
      upstream.answers.set(`/${name}`, (_request, response) => void held.push(response));
    }
    const answers = heldNames.map((name) => get(`${base}/npm/${name}`));
    await eventually(() => held.length === 8);
    serve("meanwhile", "content");
    const others = await get(`${base}/npm/meanwhile`, { authorization: `Bearer ${dora.token}` });
    expect(others.status).to.equal(200);
    expect(held).to.have.length(8);
    for (const name of heldNames) serve(name, "content");
    for (const response of held) response.writeHead(404).end();
    const statuses = (await Promise.all(answers)).map(({ status }) => status).sort();
    expect(statuses).to.deep.equal([...Array(12).fill(200), ...Array(8).fill(404)]);
  });

  describe("hold memory for documents", () => {
    const mebibyte = 1024 ** 2;
    const roomLeft = 36 * mebibyte;
    let token = "";
    let leave = (): void => undefined;
    const as = (name: string, by = token) =>
      get(`${base}/roomy/${name}`, { authorization: `Bearer ${by}` });
    const status = async (name: string) => {
      const answer = await as(name);
      await answer.arrayBuffer();
      return answer.status;
    };
    let erinId = "";
    const fits = (bytes: number): boolean => {
      try {
        asCaller(erinId, () => documentBudget.take(bytes)).leave();
        return true;
      } catch {
        return false;
      }
    };
    before(async () => {
      const erin = await givenReader("erin");
      erinId = erin.id;
      await at.proxy("roomy", "npm", { url: upstream.url, isCaching: true });
      token = erin.token;
      serve("bulky", "x".repeat(14 * mebibyte));
      serve("vast", "x".repeat(40 * mebibyte));
      serve("meanwhile", "content");
      const taken = documentBudget.share - roomLeft;
      leave = asCaller(erin.id, () => documentBudget.take(taken)).leave;
    });

    it("until the answers made of them are read", async () => {
      const unread = [await begun("roomy/bulky", token), await begun("roomy/bulky", token)];
      expect(unread.map((answer) => answer.statusCode)).to.deep.equal([200, 200]);
      const refused = await as("bulky");
      expect([refused.status, refused.headers.get("retry-after")]).to.deep.equal([503, "5"]);
      expect((await as("meanwhile", anna.token)).status).to.equal(200);
      await Promise.all(unread.map(buffer));
      await eventually(async () => (await status("bulky")) === 200);
    });

    it("while they come", async () => {
      const held: ServerResponse[] = [];
      upstream.answers.set("/trickled", (_request, response) => {
        response.write(" ".repeat(30 * mebibyte));
        held.push(response);
      });
      const trickled = as("trickled");
      await eventually(() => !fits(roomLeft - 30 * mebibyte));
      expect(await status("bulky")).to.equal(503);
      held[0]?.destroy();
      expect((await trickled).status).to.equal(502);
      expect(await status("bulky")).to.equal(200);
      expect(await status("vast")).to.equal(503);
      leave();
      expect(await status("vast"), "it did not fail").to.equal(200);
    });
  });

  it("lets one caller fetch so many files at a time, and others go on", async () => {
    const bob = await givenReader("bob");
    await at.proxy("many", "maven", { url: `${upstream.url}/many` });
    const held: ServerResponse[] = [];
    const file = (n: number) => `org/demo/tool/${n}/tool-${n}.jar`;
    const send = (n: number, token = anna.token) => {
      upstream.answers.set(`/many/${file(n)}`, (_request, response) => {
        response.write(large);
        held.push(response);
      });
      return get(`${base}/many/${file(n)}`, { authorization: `Bearer ${token}` });
    };
    const files = await Promise.all(Array.from({ length: 64 }, (_, n) => send(n)));
    expect(new Set(files.map(({ status }) => status))).to.deep.equal(new Set([200]));
    const refused = await send(64);
    expect(refused.status).to.equal(503);
    expect(refused.headers.get("retry-after")).to.equal("5");
    const others = await send(65, bob.token);
    expect(others.status).to.equal(200);
    for (const response of held) response.end();
    await Promise.all([...files, others].map((answer) => answer.arrayBuffer()));
    await eventually(async () => {
      const again = await send(66);
      held.at(-1)?.end();
      await again.arrayBuffer();
      return again.status === 200;
    });
  });

  it("hold room on this machine for files until they are read", async () => {
    const fay = await givenReader("fay");
    const mebibyte = 1024 ** 2;
    const { repositoryUuid } = await at.proxy("disk", "maven", {
      ...{ url: `${upstream.url}/disk`, isCaching: true },
    });
    const taken = downloadBudget().share - 40 * mebibyte;
    const { leave } = asCaller(fay.id, () => downloadBudget().take(taken));
    const content = Buffer.alloc(24 * mebibyte);
    const file = (n: number, isSized = true): string => {
      const path = `disk/org/demo/tool/${n}/tool-${n}.jar`;
      upstream.answers.set(`/${path}`, (_request, response) => {
        if (isSized) response.setHeader("content-length", content.length);
        response.write(content);
        response.end();
      });
      return path;
    };
    const send = (path: string, by = fay.token) =>
      get(`${base}/${path}`, { authorization: `Bearer ${by}` });
    const unread = await begun(file(1), fay.token);
    expect(unread.statusCode).to.equal(200);
    const kept = app.deps.db("public.proxy_content").where("repository_id", repositoryUuid);
    await eventually(async () => (await kept.clone().select("path")).length === 1);
    expect((await send(file(2))).status).to.equal(503);
    const cut = await (await send(file(3, false))).arrayBuffer().catch(() => "cut");
    expect(cut).to.equal("cut");
    const others = await send(file(4), anna.token);
    expect((await others.arrayBuffer()).byteLength).to.equal(content.length);
    expect((await buffer(unread)).length).to.equal(content.length);
    await eventually(async () => {
      const again = await send(file(2));
      await again.arrayBuffer();
      return again.status === 200;
    });
    leave();
  });
});
