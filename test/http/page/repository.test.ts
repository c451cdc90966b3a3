import { expect } from "chai";

import { startTestApp, type TestUser } from "../../support/app/app.ts";
import {
  asPage,
  committed,
  evilName,
  files,
  loggedIn,
  turnedName,
  type Visitor,
  visitor,
} from "../../support/app/site-world.ts";

const app = await startTestApp();
const open = "/project/anna/open";
const hidden = "/project/anna/hidden";

let anna: TestUser;
let stranger: Visitor;
let insider: Visitor;
let bob: Visitor;
let head: string;
let root: TestUser;
before(async () => {
  root = await app.givenUser("root", { admin: true });
  anna = await app.givenUser("anna");
  await app.givenProject(anna, "open", { private: false });
  await app.givenProject(anna, "hidden");
  head = await committed(app, anna, open, files);
  await committed(app, anna, hidden, { "README.md": "# Hidden words" });
  stranger = visitor(app);
  insider = await loggedIn(app, anna);
  bob = await loggedIn(app, await app.givenUser("bob"));
});

const fileAt = (file: string) => `${open}/blob?commitHash=main&file=${encodeURIComponent(file)}`;
const rawAt = (file: string) => `/page${open}/raw?commitHash=main&file=${encodeURIComponent(file)}`;

describe("pages of a project", () => {
  it("answer browsers, and leave the answers to programs as they are", async () => {
    const page = await insider.see(open);
    expect(page.status).to.equal(200);
    expect(page.headers.get("content-type")).to.contain("text/html");
    expect(page.headers.get("vary")).to.match(/accept/i);
    for (const accept of ["*/*", "application/json", "application/json, text/html"]) {
      const { headers } = await app.get(open, { token: anna.token, headers: { accept } });
      expect(headers.get("content-type"), accept).to.contain("application/json");
      expect(headers.get("vary")).to.match(/accept/i);
    }
    const withToken = await app.get(open, { token: anna.token, headers: asPage });
    expect(withToken.headers.get("content-type")).to.contain("application/json");
  });

  it("never give a browser an answer that was kept for a program, nor the other way", async () => {
    const at = `${open}/commit/${head}/file`;
    const json = await app.get(at, { token: anna.token });
    expect(json.headers.get("content-type")).to.contain("json");
    const page = `${open}/blob?commitHash=${head}&file=src%2Fcode.ts`;
    expect((await app.get(page, { token: anna.token })).text).to.equal(files["src/code.ts"]);
    expect((await insider.see(page)).headers.get("content-type")).to.contain("text/html");
    expect((await app.get(page, { token: anna.token })).text).to.equal(files["src/code.ts"]);
  });

  it("show the README without what runs or loads from elsewhere", async () => {
    const { text, headers } = await stranger.see(open);
    expect(text).to.contain('<h1 id="md-read-me">Read me</h1>');
    expect(text).to.contain(`href="${open}/blob?commitHash=main&amp;file=src%2Fcode.ts#L2"`);
    expect(text).to.contain(`src="/page${open}/raw?commitHash=main&amp;file=img%2Flogo.svg"`);
    expect(text).to.contain('file=etc%2Fpasswd"');
    expect(text).not.to.match(
      /<script|<[^>]* onerror=|style="|<img[^>]+evil\.example|href="javascript/i,
    );
    expect(text).to.contain('id="md-main"');
    expect(headers.get("content-security-policy")).to.contain("default-src 'none'");
  });

  it("list files with names that hide nothing", async () => {
    const { text } = await stranger.see(open);
    expect(text).not.to.contain(evilName);
    expect(text).to.contain("&lt;img src=x");
    expect(text).not.to.contain("\u202e");
    expect(text).to.contain("&lt;U+202E&gt;");
    const turned = (await stranger.see(fileAt(turnedName))).text;
    expect(turned).to.contain("turned").and.contain("<h1>a&lt;U+202E&gt;txt.exe</h1>");
    expect((await stranger.see(fileAt(evilName))).status).to.equal(200);
  });

  it("show a file with colours, line links and the way to it", async () => {
    const { text } = await stranger.see(fileAt("src/code.ts"));
    expect(text).to.contain('<tr id="L3">').and.contain('href="#L3"');
    expect(text).to.contain("hljs-comment").and.contain("hljs-keyword");
    expect(text).to.contain('file=src"');
    const directory = await stranger.see(fileAt("src"));
    expect(directory.text).to.contain("file=src%2Fdeep").and.contain("deep/");
    expect((await stranger.see(fileAt("no/such"))).status).to.equal(404);
    expect((await stranger.see(`${open}/blob?commitHash=nothing&file=x`)).status).to.equal(404);
  });

  it("show the beginning of a text that is too long to be rendered", async () => {
    const { status, text } = await stranger.see(fileAt("docs/big.md"));
    expect(status).to.equal(200);
    expect(text.length).to.be.lessThan(400_000);
    expect(text).to.contain("Only the beginning is shown");
  });

  it("send files of others so that nothing in them runs", async () => {
    for (const [file, type] of [
      ["page.html", "text/plain; charset=utf-8"],
      ["img/logo.svg", "text/plain; charset=utf-8"],
      ["src/code.ts", "text/plain; charset=utf-8"],
    ] as const) {
      const { status, headers } = await stranger.open(rawAt(file));
      expect([status, headers.get("content-type")], file).to.deep.equal([200, type]);
      expect(headers.get("content-security-policy")).to.match(/default-src 'none'.*sandbox$/);
      expect(headers.get("x-content-type-options")).to.equal("nosniff");
    }
    const image = await stranger.open(rawAt("img/logo.svg"), { "sec-fetch-dest": "image" });
    expect(image.headers.get("content-type")).to.equal("image/svg+xml");
    expect(image.headers.get("content-security-policy")).to.contain("sandbox");
    const download = `${open}/blob/download?commitHash=main&file=page.html`;
    const saved = await stranger.see(download);
    expect(saved.headers.get("content-disposition")).to.match(/^attachment/);
  });

  it("show history, a commit with its changes, branches, tags and releases", async () => {
    const token = anna.token;
    const tag = { tagName: "v1", commitId: head, message: "First" };
    await app.post(`${open}/tag`, { token, body: tag });
    const body = { title: "One <i>", tagName: "v1", description: "See [code](src/code.ts)" };
    expect((await app.post(`${open}/release`, { token, body })).status).to.equal(200);
    const history = await stranger.see(`${open}/commits`);
    expect(history.text)
      .to.contain("Change &lt;b&gt;files&lt;/b&gt;")
      .and.contain(`/commit/${head}`);
    const commit = await stranger.see(`${open}/commit/${head}`);
    expect(commit.text).to.contain('class="op-add"').and.contain("src/code.ts");
    const one = await stranger.see(`${open}/commit/${head}?file=src%2Fcode.ts`);
    expect(one.text).to.contain("hljs-keyword");
    expect((await stranger.see(`${open}/branch`)).text).to.contain("main</a> (default)");
    expect((await stranger.see(`${open}/branch?branchName=main`)).location).to.contain("/blob?");
    expect((await stranger.see(`${open}/tag/v1`)).status).to.equal(200);
    const releases = await stranger.see(`${open}/release`);
    expect(releases.text).to.contain("One &lt;i&gt;").and.contain("refs%2Ftags%2Fv1");
    expect((await stranger.see(`${open}/release/latest`)).status).to.equal(200);
    const archive = await insider.see(`${open}/archive/main.zip`);
    expect(archive.headers.get("content-disposition")).to.match(/^attachment/);
  });

  it("lead from the address of a clone to the project", async () => {
    expect((await stranger.see(`${open}.git`)).location).to.equal(open);
  });

  it("do not pass a failure off as a repository without commits", async () => {
    const { db } = app.deps;
    await db.raw("alter table read_model.git_ref rename to git_ref_away");
    try {
      const { status, text } = await insider.see(hidden);
      expect(status).to.equal(503);
      expect(text).not.to.contain("Nothing has been pushed yet");
    } finally {
      await db.raw("alter table read_model.git_ref_away rename to git_ref");
    }
  });
});

describe("who may see pages of a project", () => {
  const private_ = ["", "/commits", "/branch", "/blob?commitHash=main&file=README.md"];

  it("sends who is not logged in to the login page and back, whether there is such a project or not", async () => {
    for (const rest of private_) {
      const there = await visitor(app).see(hidden + rest);
      const missing = await visitor(app).see(`/project/anna/missing${rest}`);
      expect(there.status).to.equal(303);
      expect(there.location).to.equal(`/login?returnTo=${encodeURIComponent(hidden + rest)}`);
      expect(there.location.replaceAll("hidden", "missing")).to.equal(missing.location);
      expect(there.text).to.equal(missing.text);
    }
    const raw = await visitor(app).open(rawAt("README.md").replace("open", "hidden"));
    expect(raw.status).to.equal(303);
  });

  it("comes back to the page after the login", async () => {
    const one = visitor(app);
    const { location } = await one.see(hidden);
    const login = await one.see(location);
    const fields = { login: anna.alias, password: anna.password };
    const after = await one.submit(login, "/login", fields);
    expect(after.location).to.equal(hidden);
    expect((await one.see(after.location)).text).to.contain("Hidden words");
  });

  it("answers a member of nothing as if there were no such project", async () => {
    for (const rest of private_) {
      const [there, missing] = [
        await bob.see(hidden + rest),
        await bob.see(`/project/anna/no${rest}`),
      ];
      expect([there.status, there.text]).to.deep.equal([404, missing.text]);
      expect(there.text.replaceAll(`type="hidden"`, "")).not.to.contain("idden");
    }
  });

  it("queries the database for a project out of a stranger's sight as often as of none", async () => {
    let count = 0;
    const counter = ({ sql }: Readonly<{ sql: string }>) => {
      if (/"project"|member/.test(sql)) count += 1;
    };
    app.deps.db.on("query", counter);
    const queries = async (at: string): Promise<number> => {
      await stranger.see(at);
      const before = count;
      await stranger.see(at);
      return count - before;
    };
    const there = await queries(hidden);
    expect(there)
      .to.be.greaterThan(0)
      .and.to.equal(await queries("/project/anna/no"));
    app.deps.db.off("query", counter);
  });

  it("shows strangers nothing once the setting is off", async () => {
    const set = async (on: boolean) => {
      const body = { pullRepoFromAnonUserIsEnabled: on };
      const answer = await app.post("/admin/settings/files", { token: root.token, body });
      expect(answer.status, answer.text).to.equal(200);
    };
    await set(false);
    expect((await stranger.see(open)).status).to.equal(303);
    await set(true);
    expect((await stranger.see(open)).status).to.equal(200);
  });

  it("never shows strangers what needs an account in a public project", async () => {
    for (const rest of ["/archive/main.zip"]) {
      expect((await stranger.see(open + rest)).status, rest).to.equal(303);
    }
  });
});

describe("pages of people, teams and companies", () => {
  it("show who they are and their public projects", async () => {
    const { text } = await bob.see("/user/anna");
    expect(text).to.contain(`href="${open}"`).and.not.contain("anna/hidden");
    expect((await insider.see("/user/me")).location).to.equal("/user/anna");
    expect((await stranger.see("/user/anna")).status).to.equal(303);
    expect((await bob.see("/user/nobody")).status).to.equal(404);
  });

  it("show the members of a team and a company to those who may see them", async () => {
    for (const kind of ["team", "company"]) {
      const body = { title: "Secret <b>", alias: `secret-${kind}`, isPrivate: true };
      const { status, text } = await app.post(`/${kind}`, { token: anna.token, body });
      expect(status, text).to.equal(200);
      const shown = await insider.see(`/${kind}/secret-${kind}`);
      expect(shown.text).to.contain("Secret &lt;b&gt;").and.contain("admin");
      const [there, missing] = [
        await bob.see(`/${kind}/secret-${kind}`),
        await bob.see(`/${kind}/no`),
      ];
      expect([there.status, there.text]).to.deep.equal([404, missing.text]);
    }
  });

  it("list one's own projects, shared and public ones", async () => {
    expect((await insider.see("/project/my")).text).to.contain("anna/hidden");
    expect((await bob.see("/project/my")).text).not.to.contain("anna/hidden");
    expect((await bob.see("/project?q=ope")).text).to.contain("anna/open");
    expect((await bob.see("/project/shared")).status).to.equal(200);
  });
});

describe("pages of the audit", () => {
  it("show who changed what, before and after, to administrators of the place", async () => {
    const { text } = await insider.see(`${open}/audit`);
    expect(text).to.contain("ProjectCreated").and.contain("Before").and.contain(">anna</a>");
    const one = await insider.see(`${open}/audit?type=ProjectCreated&until=2999-01-01&actor=`);
    expect(one.text).to.contain("ProjectCreated").and.not.contain("RefsChanged");
    expect((await insider.see("/user/audit")).text).to.contain("UserRegistered");
    expect((await insider.see("/team/secret-team/audit")).text).to.contain("TeamCreated");
    expect((await insider.see("/company/secret-company/audit")).text).to.contain("CompanyCreated");
  });

  it("show it to nobody else", async () => {
    expect((await bob.see(`${open}/audit`)).status).to.equal(403);
    const [there, missing] = [
      await bob.see(`${hidden}/audit`),
      await bob.see("/project/anna/no/audit"),
    ];
    expect([there.status, there.text]).to.deep.equal([404, missing.text]);
    expect((await bob.see("/admin/audit")).status).to.equal(403);
    expect((await stranger.see("/user/audit")).status).to.equal(303);
  });
});

describe("pages of packages", () => {
  it("show what is in a repository and how to install it", async () => {
    const body = { type: "LOCAL", packageType: "npm", repositoryName: "npm" };
    const made = await app.post(`${hidden}/repositories`, { token: anna.token, body });
    expect(made.status, made.text).to.equal(201);
    const list = await insider.see(`${hidden}/repositories`);
    const at = `${hidden}/repositories/${String(made.body["repositoryUuid"])}`;
    expect(list.text).to.contain(`href="${at}"`);
    const { text } = await insider.see(at);
    const address = `${app.url}/registry/project/anna/hidden/repository/npm/`;
    expect(text).to.contain(`npm install --registry ${address} NAME`).and.contain("No packages.");
    expect((await bob.see(at)).status).to.equal(404);
  });
});

describe("pages of operations", () => {
  it("show read models, queues, agents and the growth of the log to administrators alone", async () => {
    const admin = await loggedIn(app, root);
    const { text } = await admin.see("/page/admin/operations");
    expect(text).to.contain("Read models").and.contain("<rect").and.contain("webhook");
    expect((await admin.see("/admin/runners")).text).to.contain("No agents.");
    const registered = await admin.see("/admin/audit?type=UserRegistered");
    expect(registered.text).to.match(/>\s*UserRegistered\s*</);
    expect((await bob.see("/page/admin/operations")).status).to.equal(403);
    expect((await bob.see("/admin/runners")).status).to.equal(403);
  });

  it("show deliveries of a webhook and send them again", async () => {
    const hook = { url: "https://hooks.example.org/x", events: {} };
    const at = `${open}/setting/webhook`;
    const made = await app.post(at, { token: anna.token, body: hook });
    expect(made.status, made.text).to.be.oneOf([200, 201]);
    const one = `${at}/${String(made.body["id"])}/delivery`;
    await app.post(`${at}/${String(made.body["id"])}/test`, { token: anna.token });
    expect((await insider.see(at)).text).to.contain(`href="${one}"`);
    const page = await insider.see(one);
    const [, form = ""] = /action="(\/page[^"]+redeliver)"/.exec(page.text) ?? [];
    expect((await insider.submit(page, form)).location).to.equal(one);
    expect((await insider.see(one)).text.match(/redeliver"/g)).to.have.length(2);
    expect((await bob.see(one)).status).to.equal(403);
  });
});
