import { expect } from "chai";
import type { Browser, BrowserContext } from "playwright-core";

import { startTestApp, type TestUser } from "../../support/app/app.ts";
import { type FullSite, forge, givenFullSite, pagesOf } from "../../support/app/full-site.ts";
import { committed } from "../../support/app/site-world.ts";
import {
  cutTables,
  overflows,
  seriousFindings,
  startChromium,
} from "../../support/client/chromium.ts";
import { needsProgram } from "../../support/process/program.ts";

const app = await startTestApp({ workers: true });

const statusOf = (path: string): number => {
  if (path.endsWith("/missing")) return 404;
  return path.endsWith("asOf=9999") ? 422 : 200;
};

describe("pages in a browser", () => {
  needsProgram("chromium");
  let chromium: Browser | undefined;
  let context: BrowserContext;
  let root: TestUser;
  let site: FullSite;
  const shots = process.env["SCREENSHOTS"];

  before(async () => {
    root = await app.givenUser("anna", { admin: true });
    site = await givenFullSite(app, root);
    chromium = await startChromium();
    context = await chromium.newContext();
  });
  after(() => chromium?.close());

  it("comes from a link through the login to the page", async () => {
    const page = await context.newPage();
    await page.goto(`${app.url}${forge}/issue/1`);
    expect(page.url()).to.contain("/login?returnTo=");
    await page.fill("#login", root.alias);
    await page.fill("#password", root.password);
    await page.click("main form button");
    await page.waitForURL(`${app.url}${forge}/issue/1`);
    expect(await page.textContent("h1")).to.contain("Greeting is lost");
    await page.close();
  }).timeout(300_000);

  it("shows all of them without requests elsewhere, or what axe finds serious", async () => {
    const page = await context.newPage();
    const elsewhere: string[] = [];
    page.on("request", (request) => {
      if (!request.url().startsWith(app.url)) elsewhere.push(request.url());
    });
    for (const [scheme, width] of [
      ["light", 390],
      ["dark", 1280],
    ] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.setViewportSize({ width, height: 900 });
      for (const [index, path] of pagesOf(site).entries()) {
        const answer = await page.goto(app.url + path);
        expect(answer?.status(), path).to.equal(statusOf(path));
        const name = `${String(index).padStart(2, "0")}${path.replaceAll(/\W+/g, "-").slice(0, 60)}-${width}`;
        if (shots) await page.screenshot({ path: `${shots}/${name}.png`, fullPage: true });
        // Every page in one of the schemes: each takes a second of a quiet machine.
        if (shots || (index % 2 === 0) === (scheme === "light")) {
          expect(await seriousFindings(page), `${path} at ${width}`).to.deep.equal([]);
        }
        expect(await overflows(page), `${path} at ${width}`).to.equal(false);
        expect(await cutTables(page), `${path} at ${width}`).to.equal(0);
      }
    }
    expect(elsewhere).to.deep.equal([]);
    await page.close();
  }).timeout(600_000);

  it("keeps texts without a place to break within a narrow page", async () => {
    const word = "unbreakable".repeat(15);
    const project = "/project/anna/wide";
    await app.givenProject(root, "wide", { private: false });
    const nested = `${"> ".repeat(30)}deep\n\n\`\`\`\n${word}\n\`\`\`\n\n|a|b|\n|-|-|\n|${word}|c|\n`;
    const files = { "README.md": `# ${word}\n\n${nested}`, [word]: `${word}${word}\n` };
    const commit = await committed(app, root, project, files, { message: word });
    const branch = { branch: word, startBranch: "main", action: "UPDATE", message: word };
    await committed(app, root, project, { [word]: `${word}\n` }, branch);
    for (const [at, body] of [
      ["/issue", { title: word, description: nested }],
      ["/release", { title: word, tagName: word, description: nested }],
      ["/merge-request", { title: word, sourceBranch: { id: word }, targetBranch: { id: "main" } }],
    ] as const) {
      const answer = await app.post(project + at, { token: root.token, body });
      expect(answer.status, answer.text).to.be.oneOf([200, 201]);
    }
    const page = await context.newPage();
    await page.setViewportSize({ width: 390, height: 900 });
    for (const path of [
      ...["", "/release", "/issue", "/issue/1", "/branch", `/tag/${word}`, `/commit/${commit}`],
      ...["/merge-request/1", "/merge-request/1/changes", `/blob?commitHash=main&file=${word}`],
    ]) {
      await page.goto(app.url + project + path);
      expect(await overflows(page), path).to.equal(false);
      expect(await cutTables(page), path).to.equal(0);
    }
    await page.goto(app.url + project);
    expect(await seriousFindings(page)).to.deep.equal([]);
    await page.close();
  }).timeout(300_000);

  it("is used by keyboard alone: to the content, and along visible links", async () => {
    const page = await context.newPage();
    await page.goto(app.url + forge);
    const focused = () =>
      page.evaluate(
        "(({ className, id, tagName }) => className || id || tagName)(document.activeElement)",
      );
    await page.keyboard.press("Tab");
    expect(await focused()).to.equal("skip");
    expect((await page.locator(".skip").boundingBox())?.x).to.be.greaterThan(0);
    await page.keyboard.press("Enter");
    expect(await focused()).to.equal("site");
    await page.keyboard.press("Tab");
    expect(await focused()).to.equal("A");
    const outline = "parseFloat(getComputedStyle(document.activeElement).outlineWidth)";
    expect(await page.evaluate(outline)).to.be.greaterThan(1);
    await page.close();
  }).timeout(300_000);

  it("follows a log that grows and the times of a pipeline's jobs, until the job ends", async () => {
    const page = await context.newPage();
    const { at, append, succeed } = site.running;
    await page.goto(app.url + at);
    await append("\u001b[31mred <b>line</b>\u001b[0m\n");
    const line = page.locator(".log .f1", { hasText: "red <b>line</b>" });
    await line.waitFor({ timeout: 120_000 });
    const whole = await context.newPage();
    const link = page.locator('section[aria-label=About] a[href*="/cicd/pipeline/"]');
    await whole.goto(`${app.url}${await link.getAttribute("href")}`);
    const job = whole.locator("tr", { has: whole.locator(`a[href="${at}"]`) });
    const ended = job.locator('[data-cell$=" ended"]');
    expect(await ended.textContent()).to.equal("");
    await succeed();
    await ended.locator("time").waitFor({ timeout: 120_000 });
    await whole.close();
    await page.locator(".status.s-success").waitFor({ timeout: 120_000 });
    const about = page.locator("section[aria-label=About]");
    await about.locator("text=Run again").waitFor({ timeout: 120_000 });
    expect(await about.textContent())
      .to.contain("Ended")
      .and.not.contain("Cancel");
    await page.close();
  }).timeout(300_000);

  it("merges, and reads in the audit what was, without a script", async () => {
    const cookies = await context.cookies();
    const plain = await chromium?.newContext({ javaScriptEnabled: false });
    await plain?.addCookies(cookies);
    const page = await plain?.newPage();
    if (page === undefined) throw new Error("no page");
    const at = `${app.url}${forge}/merge-request/1`;
    await page.goto(at);
    await page.locator("#comment").fill("Ready, *I think*.");
    await page.click("text=/^Comment$/ >> visible=true");
    await page.waitForURL(at);
    expect(await page.textContent("main")).to.contain("Ready, I think.");
    await page.locator("section[aria-labelledby=merge] button").click();
    await page.waitForURL(at);
    expect(await page.textContent(".side")).to.contain("merged");
    await page.goto(`${app.url}${forge}/audit?kind=MERGE_REQUEST`);
    const merged = page.locator(".entry", { hasText: "MergeRequestMerged" });
    await merged.locator("summary").click();
    expect(await merged.textContent())
      .to.contain("Before")
      .and.contain("After");
    await plain?.close();
  }).timeout(300_000);

  it("lets an administrator send again what does not arrive", async () => {
    const page = await context.newPage();
    const at = `${app.url}/page/admin/operations`;
    await page.goto(at);
    const sent = page.waitForResponse((answer) => answer.url().endsWith("/redeliver"));
    await page.click("text=Send again");
    expect((await sent).status()).to.equal(303);
    await page.waitForURL(at);
    await page.click("text=History again");
    await page.fill("#f-from", "2026-01-01");
    await page.fill("#f-to", "2026-01-02");
    await page.click("main form button");
    await page.waitForURL(at);
    await page.close();
  }).timeout(300_000);
});
