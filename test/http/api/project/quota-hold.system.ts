import { createHash, randomBytes } from "node:crypto";
import { expect } from "chai";
import type { Send, TestUser } from "../../../support/app/app.ts";
import { basicAuth } from "../../../support/app/basic-auth.ts";
import { repositoriesAt } from "../../../support/client/registry.ts";
import { givenUploads } from "../../../support/project/uploads.ts";

const given = await givenUploads();
const { app, holds } = given;

const bytes = 1_500_000;

const allowed = 2_000_000;

const atOnce = 12;

const as = (user: TestUser, body?: unknown): Send => ({ token: user.token, body });

async function limited(alias: string): Promise<string> {
  const { id } = await app.givenProject(given.anna, alias);
  await app.put(`/admin/project/${id}/quota`, as(given.root, { allowedBytes: allowed }));
  return `/project/anna/${alias}`;
}

type Sending = (index: number) => Promise<Readonly<{ status: number }>>;

/** @returns the codes of those that were stored and of those that were refused */
async function together(send: Sending): Promise<Readonly<{ stored: number; codes: number[] }>> {
  const answers = await Promise.all(Array.from({ length: atOnce }, (_, index) => send(index)));
  const codes = answers.map(({ status }) => status);
  return { stored: codes.filter((code) => code < 300).length, codes };
}

const token = () => ({ authorization: `token ${given.anna.token}` });

async function posted(to: string, key: string): Promise<Response> {
  const body = new FormData();
  body.append(key, new Blob([randomBytes(bytes)]), "a.bin");
  const answer = await fetch(app.url + to, { method: "POST", headers: token(), body });
  await answer.arrayBuffer();
  return answer;
}

/** Without a length, in pieces. */
const chunked = (content: Buffer) =>
  new ReadableStream({
    start(controller) {
      for (let at = 0; at < content.length; at += 100_000) {
        controller.enqueue(content.subarray(at, at + 100_000));
      }
      controller.close();
    },
  });

describe("uploads at once into a quota with room for one of them", () => {
  afterEach(async () => expect(await holds()).to.equal(0));

  it("store one attachment", async () => {
    const at = await limited("attachments");
    const { stored, codes } = await together(() => posted(`${at}/file`, "file"));
    expect(stored, codes.join()).to.equal(1);
    expect(codes.filter((code) => code === 413)).to.have.length(atOnce - 1);
  });

  it("store one package, with or without its length", async () => {
    for (const [alias, hasLength] of [
      ["packages", true],
      ["streams", false],
    ] as const) {
      const at = await limited(alias);
      await repositoriesAt(app, `${at}/repositories`, given.anna.token).local("goods", "generic");
      const { stored, codes } = await together(async (index) => {
        const to = `/registry${at}/repository/goods/tool/1.${index}/a.bin`;
        const content = randomBytes(bytes);
        const headers = { authorization: `Bearer ${given.anna.token}` };
        const body = hasLength ? content : chunked(content);
        const init = { method: "PUT", headers, body, duplex: "half" } as RequestInit;
        return await fetch(app.url + to, init);
      });
      // Those that grow beside one another may leave room for none.
      expect(stored, codes.join()).to.be.at.most(1);
      if (hasLength) expect(stored, codes.join()).to.equal(1);
    }
  });

  it("store one LFS object", async () => {
    const at = await limited("objects");
    const { stored, codes } = await together(async () => {
      const body = randomBytes(bytes);
      const oid = createHash("sha256").update(body).digest("hex");
      const headers = { authorization: basicAuth("anna", given.anna.token) };
      return app.send("PUT", `${at}.git/info/lfs/objects/${oid}/${bytes}`, { headers, body });
    });
    expect(stored, codes.join()).to.equal(1);
  });

  it("store one layer of an image, in chunks", async () => {
    const at = await limited("images");
    await repositoriesAt(app, `${at}/repositories`, given.anna.token).local("boxes", "container");
    const headers = { authorization: basicAuth("anna", given.anna.token) };
    const name = "/v2/anna/images/boxes/tool";
    const { stored, codes } = await together(async () => {
      const begun = await app.send("POST", `${name}/blobs/uploads/`, { headers });
      const to = String(begun.headers.get("location"));
      return app.send("PATCH", to, { headers, body: randomBytes(bytes) });
    });
    expect(stored, codes.join()).to.equal(1);
  });

  it("make one commit", async () => {
    const at = await limited("commits");
    const { stored, codes } = await together((index) => {
      const content = randomBytes(bytes).toString("base64");
      const action = { action: "CREATE", path: "a.bin", content, encoding: "base64" };
      const body = { branch: `b${index}`, message: "Large", actions: [action] };
      return app.post(`${at}/commit`, as(given.anna, body));
    });
    expect(stored, codes.join()).to.equal(1);
  });
});
