import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "chai";

import { mirrorStream } from "../../src/events/project/mirror.ts";
import { repositoryStream } from "../../src/events/repository/repository.ts";
import { type Send, startTestApp, type TestUser } from "../support/app/app.ts";
import { eventually } from "../support/app/eventually.ts";
import { metadataFor } from "../support/app/history.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../support/git/git.ts";
import { startGitServer } from "../support/git/git-server.ts";
import { processes } from "../support/process/process.ts";

// Family 9: requests to inside by way of mirrors.
const closed = await startTestApp();
const app = await startTestApp({ workers: true });
const other = await startGitServer();
const parent = await temporaryDirectory();
const as = (user: TestUser, body?: unknown): Send => ({ token: user.token, body });

/** A server of the inside: no request may ever reach it. */
let requests = 0;
const inside = createServer((_request, response) => {
  requests += 1;
  response.end("secret");
}).listen(0, "127.0.0.1");
await once(inside, "listening");
after(() => void inside.close());
const { port } = inside.address() as AddressInfo;

let anna: TestUser;
let local: string;
before(async () => {
  anna = await app.givenUser("anna");
  local = await workingCopy(parent, "local");
  await commit(local, "One", { "secret.txt": "secret\n" });
});
beforeEach(() => {
  other.reset();
  requests = 0;
});

const refused = [
  ...["file:///etc", "/etc/passwd", "../other.git", "ext::sh -c id", "fd::7", "-oProxyCommand=id"],
  ...["ssh://-oProxyCommand=id/x", "git@host.example:x.git", "git://host.example/x", "gopher://x/"],
  ...["http://localhost/x", "http://127.0.0.1/x", "http://127.1/x", "http://2130706433/x"],
  ...["http://0x7f.0.0.1/x", "http://[::1]/x", "http://[::ffff:10.0.0.1]/x", "http://10.0.0.1/x"],
  ...["http://169.254.169.254/latest", "http://0.0.0.0/x", "http://[fd00::1]/x"],
  ...["https://user:token@git.example.org/x", "https://git.example.org/x?token=y", "http://"],
  ...[
    "https://git.example.org/x#y",
    "https://git.example.org\\@10.0.0.1/",
    "http://git.example.org:0/",
  ],
];

describe("the URL of a mirror", () => {
  let owner: TestUser;
  before(async () => {
    owner = await closed.givenUser("anna");
    await closed.givenProject(owner, "search");
  });

  for (const url of refused) {
    it(`may not be ${url}`, async () => {
      const head = await closed.head();
      for (const type of ["PULL", "PUSH"]) {
        const body = { url, type };
        const answer = await closed.post("/project/anna/search/mirror", as(owner, body));
        expect(answer.status, answer.text).to.equal(422);
      }
      expect(await closed.head()).to.equal(head);
    });
  }
});

const errorCode = (alias: string) =>
  eventually(async () => {
    const { body } = await app.get(`/project/anna/${alias}/mirror`, as(anna));
    return typeof body["errorCode"] === "string" && body["errorCode"];
  }, 60_000);
const refEvents = async (id: string) => {
  let count = 0;
  for await (const _ of app.platform.store.readStream(repositoryStream(id))) count += 1;
  return count;
};
const mirror = (alias: string, body: object) =>
  app.post(`/project/anna/${alias}/mirror`, as(anna, { url: other.url(alias), ...body }));

describe("a mirror whose server leads elsewhere", () => {
  for (const status of [301, 302, 307, 308]) {
    it(`is not followed there by ${status}`, async () => {
      const alias = `redirected-${status}`;
      await app.givenProject(anna, alias);
      other.first((_request, response) => {
        response.writeHead(status, { location: `http://127.0.0.1:${port}/x.git/info/refs` }).end();
        return true;
      });
      expect((await mirror(alias, { type: "PULL" })).status).to.equal(200);
      expect(await errorCode(alias)).to.equal("remote.redirected");
      expect(requests).to.equal(0);
    });
  }

  it("is not followed to the alternates of the dumb protocol", async () => {
    const { id } = await app.givenProject(anna, "dumb");
    other.first((request, response) => {
      const path = request.url ?? "";
      const elsewhere = `http://127.0.0.1:${port}/objects\n`;
      if (path.includes("alternates")) response.end(elsewhere);
      else if (path.includes("info/refs")) response.end(`${"1".repeat(40)}\trefs/heads/main\n`);
      else response.writeHead(404).end();
      return true;
    });
    await mirror("dumb", { type: "PULL" });
    expect(await errorCode("dumb")).to.match(/^remote\./);
    expect(requests).to.equal(0);
    expect(await refEvents(id)).to.equal(0);
  });
});

describe("a mirror whose URL was changed after it was checked", () => {
  const urls = () => [
    `file://${local}`,
    local,
    `ext::touch ${parent}/owned`,
    "ssh://-oProxyCommand=id",
  ];

  for (const [index, kind] of ["a file", "a path", "a command", "an option"].entries()) {
    it(`does not reach ${kind}`, async () => {
      const alias = `changed-${index}`;
      const { id } = await app.givenProject(anna, alias);
      const mirrorId = "51a7f8de-0c7b-4f0b-9a0e-6b2f4d9e7a11";
      const { store } = app.platform;
      const target = { type: "PULL", url: urls()[index], credentials: null };
      const data = { mirrorId, projectId: id, target, previous: null };
      const stamp = { configuredById: anna.id, configuredAt: "2026-01-02T03:04:05.678Z" };
      const event = {
        type: "MirrorConfigured",
        data: { ...data, ...stamp },
        id: crypto.randomUUID(),
      };
      const metadata = metadataFor(crypto.randomUUID());
      await store.append(mirrorStream(id), "none", [{ ...event, metadata }]);
      expect(await errorCode(alias)).to.equal("remote.refused");
      expect(await refEvents(id)).to.equal(0);
      expect(await git(parent, "ls-files", "--others").catch(() => "")).not.to.contain("owned");
    });
  }
});

describe("the credentials of a mirror under way", () => {
  it("are on no command line", async () => {
    await app.givenProject(anna, "slow");
    let waiting = false;
    other.first((request) => {
      // Others of this file may be tried again meanwhile.
      if (request.url?.startsWith("/slow") !== true) return false;
      waiting = true;
      return true;
    });
    const token = "a-very-secret-token-0815";
    await mirror("slow", { type: "PULL", username: "carl", token });
    await eventually(() => waiting);
    const lines = (await processes()).map(({ command }) => command);
    const own = lines.filter((line) => line.includes(other.url("slow")));
    expect(own, "git is at it").not.to.deep.equal([]);
    const encoded = Buffer.from(`carl:${token}`).toString("base64");
    for (const line of lines) expect(line).not.to.contain(token).and.not.to.contain(encoded);
    await app.delete("/project/anna/slow/mirror", as(anna));
  });
});
