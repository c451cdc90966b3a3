import { createHash } from "node:crypto";
import { expect } from "chai";

import { openReferred } from "../../../../src/http/core/file/referred-blob.ts";
import type { Blobs } from "../../../../src/platform/blob/blobs.ts";
import { BlobMissing } from "../../../../src/platform/blob/store.ts";
import { startTestApp } from "../../../support/app/app.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../../../support/git/git.ts";
import { packageBase } from "../../../support/package/package.ts";

const app = await startTestApp();
const root = await app.givenUser("root", { admin: true });
const { token } = root;
const digestOf = (content: string) => createHash("sha256").update(content).digest("hex");
const headers = { authorization: `token ${token}` };

/** What happens once, after a download looked up its content and before it opens it. */
function meanwhile(happens: () => Promise<void>): void {
  const blobs = app.deps.blobs as { read: Blobs["read"] };
  const { read } = blobs;
  blobs.read = async (...args) => {
    blobs.read = read;
    await happens();
    return read(...args);
  };
}
const collect = async (content: string) => {
  expect(await app.deps.blobs.removeUnless(digestOf(content), async () => false)).to.equal(true);
};

describe("a download whose content is collected before it is opened", () => {
  const file = `${packageBase}/generic/forge/1/a.txt`;
  const put = async (body: string) => {
    const answer = await fetch(app.url + file, { method: "PUT", headers, body });
    expect(answer.status, await answer.text()).to.equal(200);
  };

  it("gives what took its place, whole and with its own tag", async () => {
    await put("the first content");
    meanwhile(async () => {
      await put("the second");
      await collect("the first content");
    });
    const answer = await fetch(`${app.url}${file}`, { headers });
    expect(answer.status).to.equal(200);
    expect(await answer.text()).to.equal("the second");
    expect(answer.headers.get("content-length")).to.equal("10");
    expect(answer.headers.get("etag")).to.contain(digestOf("the second"));
  });

  it("is not found when nothing took its place", async () => {
    await app.givenProject(root, "pro");
    const copy = await workingCopy(await temporaryDirectory(), "copy");
    await commit(copy, "First");
    const remote = `${app.url.replace("//", `//root:${token}@`)}/project/root/pro.git`;
    await git(copy, "push", "--quiet", remote, "main");
    const body = { title: "One", tagName: "v1" };
    const made = await app.post("/project/root/pro/release", { token, body });
    const release = `${app.url}/project/root/pro/release/${made.body["id"]}/file`;
    const form = new FormData();
    form.append("files", new Blob(["attached"]), "a.txt");
    const sent = await fetch(release, { method: "POST", headers, body: form });
    const [attached] = ((await sent.json()) as { attachmentFiles: { uuid: string }[] })
      .attachmentFiles;
    meanwhile(async () => {
      const json = { ...headers, "content-type": "application/json" };
      const gone = JSON.stringify([attached!.uuid]);
      await fetch(release, { method: "DELETE", headers: json, body: gone });
      await collect("attached");
    });
    expect((await fetch(`${release}/${attached!.uuid}`, { headers })).status).to.equal(404);
  });

  it("fails when it is lost: something still refers to it", async () => {
    await put("to be lost");
    await collect("to be lost");
    expect((await fetch(`${app.url}${file}`, { headers })).status).to.equal(500);
  });
});

describe("reading a reference again", () => {
  const row = (sha256: string) => ({ sha256 });
  const shaOf = ({ sha256 }: { sha256: string }) => sha256;

  it("goes on while other content takes the place", async () => {
    const names = ["a", "b", "c"];
    const opened = await openReferred(
      async () => row(names.shift() ?? "none"),
      async ({ sha256 }) => {
        if (sha256 !== "c") throw new BlobMissing(sha256);
        return `opened ${sha256}`;
      },
      shaOf,
    );
    expect(opened).to.equal("opened c");
  });

  it("is of no use for other failures", async () => {
    let looks = 0;
    const opening = openReferred(
      async () => {
        looks += 1;
        return row("a");
      },
      async () => Promise.reject(new Error("disk")),
      shaOf,
    );
    await expect(opening).to.be.rejectedWith("disk");
    expect(looks).to.equal(1);
  });
});
