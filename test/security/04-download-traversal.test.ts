import { request } from "node:http";
import { expect } from "chai";

import { startTestApp } from "../support/app/app.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../support/git/git.ts";

/**
 * Names that would lead out of where downloads are kept, in every spelling: they name nothing. Paths are
 * sent as they are, because clients that tidy them up hide the question.
 */
const app = await startTestApp();
// Everything is open to them, packages of the instance too: what is refused is the name.
const anna = await app.givenUser("anna", { admin: true });
await app.givenProject(anna, "forge");
const { token } = anna;
let hash: string;
let release: string;

before(async () => {
  const copy = await workingCopy(await temporaryDirectory(), "copy");
  hash = await commit(copy, "First", { "a.txt": "a" });
  const remote = `${app.url.replace("//", `//anna:${token}@`)}/project/anna/forge.git`;
  await git(copy, "push", "--quiet", remote, "main");
  const body = { title: "One", tagName: "v1" };
  const made = await app.post("/project/anna/forge/release", { token, body });
  release = `/project/anna/forge/release/${made.body["id"]}`;
});

const targets = ["etc/passwd", "secret-key", "blobs/temporary", "config"];
const spellings = [
  "../",
  "..%2f",
  "..%2F",
  "%2e%2e/",
  "%2e%2e%2f",
  "..%5c",
  "..%252f",
  "%c0%ae%c0%ae/",
];
const names = targets.flatMap((target, index) =>
  spellings.map((step) => step.repeat(1 + ((index * 3) % 8)) + target),
);

/** Without anything that would take `..` out of the path. */
function raw(path: string): Promise<Readonly<{ status: number; text: string }>> {
  const { hostname, port } = new URL(app.url);
  return new Promise((resolve, reject) => {
    const headers = { authorization: `token ${token}` };
    request({ hostname, port, path, headers }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      answer.once("end", () => resolve({ status: answer.statusCode ?? 0, text }));
    })
      .once("error", reject)
      .end();
  });
}

const places: Readonly<Record<string, (name: string) => string>> = {
  "a file of a commit": (name) => `/project/anna/forge/blob?commitHash=${hash}&file=${name}`,
  "a download of a commit": (name) =>
    `/project/anna/forge/blob/download?commitHash=${hash}&file=${name}`,
  "a directory of a commit": (name) =>
    `/project/anna/forge/blob/recursive?commitHash=${hash}&directory=${name}`,
  "a file of a release": (name) => `${release}/file/${name}`,
  "a release": (name) => `/project/anna/forge/release/${name}`,
  "a file of a package": (name) => `/registry/package/generic/forge/1.0/${name}`,
  "a package": (name) => `/registry/package/generic/${name}/1.0/a`,
  "a version of a package": (name) => `/registry/package/npm/forge/${name}/a`,
  "a vendor of packages": (name) => `/registry/package/composer/${name}/forge/1.0`,
  "an LFS object": (name) => `/project/anna/forge.git/info/lfs/objects/${name}`,
  "a tag": (name) => `/project/anna/forge/tag/${name}`,
};

for (const [what, pathOf] of Object.entries(places)) {
  it(`leads nowhere out of ${what}`, async () => {
    for (const name of names) {
      const { status, text } = await raw(pathOf(name));
      expect([404, 405], `${pathOf(name)}: ${text}`).to.include(status);
      expect(text).not.to.match(/root:x:|\[core\]/);
    }
  });
}
