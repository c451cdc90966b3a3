import { get } from "node:http";
import { expect } from "chai";
import { startRegistryApp } from "../../../../support/client/registry.ts";
import { conda } from "../../../../support/git/archive.ts";

const { app, anna, at, headers } = await startRegistryApp();
const bob = await app.givenUser("bob");
const repositories = "/registry/project/anna/forge/repository";
const index = "noarch/repodata.json";
const dashed = (token: string) => token.replace("_", "-");
const lines: string[] = [];

/** Status of a request whose path is sent as it is. */
const sent = (path: string, method = "GET", more: Record<string, string> = {}): Promise<number> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(app.url);
    const request = { hostname, port, path, method, headers: more };
    get(request, (answer) => {
      answer.resume().once("end", () => resolve(answer.statusCode ?? 0));
    }).once("error", reject);
  });

describe("a token in the path of a channel of conda", () => {
  before(async () => {
    await at.local("channel", "conda");
    await at.local("crates", "cargo");
    const name = "tool-1.0-py_0.conda";
    const content = conda({ name: "tool", version: "1.0", build: "py_0", subdir: "noarch" });
    const url = `${app.url}${repositories}/channel/noarch/${name}`;
    expect((await fetch(url, { method: "PUT", headers, body: content })).status).to.equal(201);
    const { log } = app.platform;
    Object.assign(log, {
      isLevelEnabled: () => true,
      info: (line: object) => lines.push(JSON.stringify(line)),
    });
  });

  // As conda 24 and py-rattler 0.28 send it; conda so where the repositories are its `channel_alias`.
  for (const [where, before, behind] of [
    ["in front of all", "", `${repositories}/channel/`],
    ["in front of the other base", "/rest-api", `${repositories}/channel/`],
    ["behind it", "", `/rest-api${repositories}/channel/`],
    ["behind an alias of channels", repositories, "/channel/"],
  ] as const) {
    it(`lets its user read, ${where}`, async () => {
      for (const file of [index, `${index}.zst`, "noarch/tool-1.0-py_0.conda"]) {
        const path = `${before}/t/${dashed(anna.token)}${behind}${file}`;
        expect(await sent(path), file).to.equal(200);
        expect(await sent(path, "HEAD"), file).to.equal(200);
      }
      expect(await sent(`${before}/t/${anna.token}${behind}${index}`)).to.equal(200);
    });
  }

  it("is refused when it is wrong, of another user, or has no right to packages", async () => {
    const path = (token: string) => `/t/${token}${repositories}/channel/${index}`;
    const wrong = `${anna.token.slice(0, -1)}${anna.token.endsWith("0") ? "1" : "0"}`;
    for (const each of [wrong, "x", "", "%2e%2e", "a%0d%0ab"]) {
      expect(await sent(path(each)), each).to.equal(401);
      expect(await sent(path(each), "GET", headers), `${each} beside a right one`).to.equal(401);
    }
    expect(await sent(path(dashed(bob.token)))).to.be.oneOf([403, 404]);
    const other = await app.givenToken(anna.id, ["PROJECT_READ"]);
    expect(await sent(path(dashed(other)))).to.equal(403);
  });

  it("opens channels for reading and nothing else", async () => {
    const token = dashed(anna.token);
    expect(await sent(`/t/${token}${repositories}/crates/index/config.json`)).to.equal(404);
    const file = `${repositories}/channel/noarch/tool-1.0-py_0.conda`;
    expect(await sent(`/t/${token}${file}`, "DELETE")).to.equal(404);
    expect(await sent(`/t/${token}/user/me`)).to.equal(404);
    expect(await sent(`/t/${token}/project/anna/forge/repositories`)).to.equal(404);
    expect(await sent(`/t/${token}/v2/`)).to.equal(404);
  });

  it("is written to no log, wherever it stands", async () => {
    lines.length = 0;
    const token = dashed(anna.token);
    const paths = [
      `/t/${token}${repositories}/channel/${index}`,
      `${repositories}/t/${token}/channel/${index}`,
      `${app.url}/t/${token}${repositories}/channel/${index}`,
      `${repositories}/channel/t/${token}/${index}`,
      `/t/${token}/nowhere`,
      `//t/${token}${repositories}/channel/${index}`,
      `/T/${token}${repositories}/channel/${index}`,
      `/%74/${token}${repositories}/channel/${index}`,
      `/t%2F${token}${repositories}/channel/${index}`,
      `/t/${anna.token.replace("_", "%5F")}${repositories}/channel/${index}`,
      `${repositories}/t/${anna.token.replace("_", "%5F")}/channel/${index}`,
    ];
    for (const path of paths) await sent(path);
    expect(lines).to.have.lengthOf(paths.length);
    const secret = token.slice(5, 40);
    for (const line of lines) expect(line).not.to.contain(secret);
    expect(lines[0]).to.contain(`${repositories}/channel/${index}`);
  });
});
