import { createHash } from "node:crypto";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { expect } from "chai";

import { startTestApp, type TestProject, type TestUser } from "../../support/app/app.ts";
import { eventually } from "../../support/app/eventually.ts";

/** A body may arrive for hours. Rights are checked again once it is received, before it takes effect. */

const app = await startTestApp();
let anna: TestUser;
let bob: TestUser;
let project: TestProject;
let releaseId = "";
let count = 0;
const at = (rest: string) => `/project/anna/${project.alias}${rest}`;

before(async () => {
  anna = await app.givenUser("anna");
});
beforeEach(async () => {
  count += 1;
  bob = await app.givenUser(`bob-${count}`, { admin: true });
  project = await app.givenProject(anna, `project-${count}`);
  const invited = { userAlias: bob.alias, role: "DEVELOPER" };
  await app.post(at("/member/invite"), { token: anna.token, body: invited });
  const actions = [{ action: "CREATE", path: "README.md", content: "Hello\n" }];
  const first = { branch: "main", message: "First", actions };
  await app.post(at("/commit"), { token: anna.token, body: first });
  const body = { title: "One", tagName: "v1", branchName: "main" };
  const made = await app.post(at("/release"), { token: anna.token, body });
  expect(made.status, made.text).to.equal(200);
  releaseId = String(made.body["id"]);
});

type Upload = Readonly<{
  method: string;
  path: string;
  headers: Readonly<Record<string, string>>;
  body: Buffer;
}>;

const content = Buffer.alloc(10_000, "x");
const byToken = () => ({ authorization: `token ${bob.token}` });
const boundary = "boundary";
const form = Buffer.from(
  [
    `--${boundary}`,
    'Content-Disposition: form-data; name="files"; filename="a.bin"',
    "",
    String(content),
    `--${boundary}--`,
    "",
  ].join("\r\n"),
);

const uploads: Readonly<Record<string, () => Upload>> = {
  "a file of a release": () => ({
    method: "POST",
    path: at(`/release/${releaseId}/file`),
    headers: { ...byToken(), "content-type": `multipart/form-data; boundary=${boundary}` },
    body: form,
  }),
  "a commit": () => {
    const actions = [{ action: "CREATE", path: "a.txt", content: String(content) }];
    const body = Buffer.from(JSON.stringify({ branch: "main", message: "One", actions }));
    const headers = { ...byToken(), "content-type": "application/json" };
    return { method: "POST", path: at("/commit"), headers, body };
  },
  "an LFS object": () => {
    const oid = createHash("sha256").update(content).digest("hex");
    const basic = Buffer.from(`${bob.alias}:${bob.token}`).toString("base64");
    return {
      method: "PUT",
      path: at(`.git/info/lfs/objects/${oid}/${content.length}`),
      headers: { authorization: `Basic ${basic}`, "content-type": "application/octet-stream" },
      body: content,
    };
  },
};
const packageFile = (): Upload => ({
  method: "PUT",
  path: `/registry/package/generic/forge/1.0/file-${count}`,
  headers: { ...byToken(), "content-type": "application/octet-stream" },
  body: content,
});

/** Half of the body has been taken in; `finish` sends the rest, over a second after the request began. */
async function halfSent({ method, path, headers, body }: Upload) {
  const length = { "content-length": String(body.length), expect: "100-continue" };
  const sending = request(app.url + path, { method, headers: { ...headers, ...length } });
  sending.on("error", () => undefined);
  const answered = once(sending, "response") as Promise<[IncomingMessage]>;
  answered.catch(() => undefined);
  sending.flushHeaders();
  // The service requests the body once it has admitted the request.
  await Promise.race([
    once(sending, "continue"),
    answered.then(([{ statusCode }]) => expect.fail(`answered ${statusCode} at once`)),
  ]);
  const admittedAt = performance.now();
  sending.write(body.subarray(0, body.length / 2));
  return async (): Promise<number | undefined> => {
    await eventually(async () => performance.now() - admittedAt > 1_000);
    sending.end(body.subarray(body.length / 2));
    const [answer] = await answered;
    answer.resume();
    return answer.statusCode;
  };
}

const isOwner = () => ({ token: anna.token });
const changes: Readonly<Record<string, () => Promise<unknown>>> = {
  "their author is removed": () => app.delete(at(`/member/${bob.alias}`), isOwner()),
  "their author may only read": async () => {
    await app.delete(at(`/member/${bob.alias}`), isOwner());
    const body = { userAlias: bob.alias, role: "REPORTER" };
    await app.post(at("/member/invite"), { ...isOwner(), body });
  },
  "the project is deleted": () => app.delete(`/project/${project.id}/delete`, isOwner()),
};

describe("security class S3: uploads over HTTP", () => {
  for (const [what, upload] of Object.entries(uploads)) {
    for (const [when, change] of Object.entries(changes)) {
      it(`do not store ${what} when ${when} meanwhile`, async () => {
        const finish = await halfSent(upload());
        await change();
        const head = await app.head();
        expect(await finish()).to.be.oneOf([403, 404]);
        expect(await app.head()).to.equal(head);
        await eventually(async () =>
          expect(await app.deps.db("public.blob_hold")).to.deep.equal([]),
        );
      });
    }

    it(`store ${what} when nothing of this happens`, async () => {
      expect(await (await halfSent(upload()))()).to.equal(200);
    });
  }

  it("do not store a package when its author is blocked meanwhile", async () => {
    const finish = await halfSent(packageFile());
    const root = await app.givenUser(`root-${count}`, { admin: true });
    const path = `/admin/user/${bob.id}/account/ban`;
    const banned = await app.post(path, { token: root.token });
    expect(banned.status, banned.text).to.equal(200);
    const head = await app.head();
    expect(await finish()).to.equal(403);
    expect(await app.head()).to.equal(head);
    await eventually(async () => expect(await app.deps.db("public.blob_hold")).to.deep.equal([]));
  });

  it("store a package when nothing of this happens", async () => {
    expect(await (await halfSent(packageFile()))()).to.equal(200);
  });
});
