import { expect } from "chai";
import { startGitApp, type TestProject, type TestUser } from "../support/app/git-app.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../support/git/git.ts";

/** Names and contents of files that a browser or a terminal would take for its own. */
const app = await startGitApp();
const parent = await temporaryDirectory();
let anna: TestUser;
let project: TestProject;
let head: string;

const hostile = [
  "<script>alert(1)</script>",
  '"><img src=x onerror=alert(1)>',
  "</span><svg onload=alert(1)>",
  "&lt;b&gt; &amp;",
  "javascript:alert(1)",
  "\u001b[2J\u001b]0;owned\u0007 \u202e",
];
const names = [
  "<img src=x onerror=alert(1)>.html",
  "a\r\nSet-Cookie: owned=1.js",
  "\u001b[31mred\u001b[0m.md",
  'quote".svg',
  "\u202egnp.exe",
];

before(async () => {
  anna = await app.user("anna");
  project = await app.project(anna, "project");
  const copy = await workingCopy(parent, "copy");
  const text = `${hostile.join("\n")}\n`;
  const languages = ["js", "html", "xml", "md", "php", "css", "sh", "txt"];
  const files = [...names, ...languages.map((language) => `code.${language}`)];
  head = await commit(
    copy,
    "<b>Subject</b>\r\n\u001b[31m",
    Object.fromEntries(files.map((name) => [name, text])),
  );
  await git(copy, "push", "--quiet", app.remote(project, anna), "main");
});

type File = Readonly<{
  filePath: string;
  headers: readonly string[];
  lines: readonly Readonly<{ body: string; highLightBody: string }>[];
}>;

const get = (path: string) => app.get(project.path + path, anna.token);
const files = async (): Promise<readonly File[]> =>
  (await (await get(`/commit/${head}/file`)).json()) as File[];

describe("diffs of hostile files", () => {
  it("are JSON, which no browser shows as a page", async () => {
    const { headers } = await get(`/commit/${head}/file`);
    expect(headers.get("content-type")).to.equal("application/json; charset=utf-8");
    expect(headers.get("x-content-type-options")).to.equal("nosniff");
    expect(headers.get("content-security-policy")).to.contain("sandbox");
  });

  it("have the names as they are, none of which ends up in a header", async () => {
    expect((await files()).map(({ filePath }) => filePath)).to.include.members(names);
    for (const name of names) {
      const path = encodeURIComponent(name);
      for (const at of [
        `/commit/${head}/diff?filePath=${path}`,
        `/blob/download?commitHash=${head}&file=${path}`,
      ]) {
        const answer = await get(at);
        expect(answer.status, at).to.equal(200);
        expect(answer.headers.get("set-cookie")).to.equal(null);
        for (const [, value] of answer.headers) expect(value).to.match(/^[\x20-\x7e]*$/);
      }
    }
  });

  it("have control characters of names escaped in the headers git prints", async () => {
    for (const { headers } of await files()) {
      // A tab after a name with a space is git's own.
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
      for (const header of headers) expect(header).not.to.match(/[\x00-\x1f](?!$)/);
    }
  });

  it("have no markup of the file's in any coloured line", async () => {
    for (const { filePath } of await files()) {
      const answer = await get(`/commit/${head}/diff?filePath=${encodeURIComponent(filePath)}`);
      const { lines } = (await answer.json()) as File;
      expect(lines.map(({ body }) => body)).to.deep.equal(hostile);
      for (const { highLightBody } of lines) {
        const own = /<span class="(?:hljs|language)-[\w -]+">|<\/span>/g;
        expect(highLightBody.replaceAll(own, ""), filePath).not.to.match(/[<>"']/);
        expect(highLightBody.split("<span").length).to.equal(highLightBody.split("</span>").length);
      }
    }
  });
});
