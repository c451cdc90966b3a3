import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";

import type { Route } from "../../src/http/core/route.ts";
import { routes } from "../../src/http/routes.ts";
import { startTestApp } from "../support/app/app.ts";
import { sampleBody } from "../support/app/world.ts";
import { commit, git, workingCopy } from "../support/git/git.ts";

const app = await startTestApp();
const directory = await mkdtemp(path.join(tmpdir(), "ledgerforge-argument-"));
after(() => rm(directory, { recursive: true, force: true }));
const anna = await app.givenUser("anna");
await app.givenProject(anna, "project");

/** Left behind by whatever took one of these texts for an option. */
const canary = path.join(directory, "canary");
const texts: readonly string[] = [
  `--output=${canary}`,
  `--upload-pack=touch ${canary}`,
  `--exec=touch ${canary}`,
  `-ccore.pager=touch ${canary}`,
  `main --output=${canary}`,
  `main\n--output=${canary}`,
  `@{-1}`,
  `:(exclude)*`,
];

let head = "";
before(async () => {
  const copy = await workingCopy(directory, "copy");
  head = await commit(copy, "One", { "a.txt": "a\n" });
  const url = app.url.replace("//", `//anna:${anna.token}@`);
  await git(copy, "push", "-q", `${url}/project/anna/project.git`, "main", "main:refs/tags/v1");
});

/** Operations on what is in a repository. */
const below = "/project/{ownerAlias}/{projectAlias}/";
const words = /commit|blob|branch|tag|file|archive|compare|release|diff/i;
const onRepositories = routes.filter(
  ({ path: at }) => at.startsWith(below) && words.test(at.slice(below.length)),
);

function filled(route: Route, text: string): string {
  return route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    if (name === "ownerAlias") return "anna";
    return name === "projectAlias" ? "project" : encodeURIComponent(text);
  });
}

/** The same value with every text in it replaced. */
function replaced(value: unknown, text: string): unknown {
  if (typeof value === "string") return text;
  if (Array.isArray(value)) return value.map((each) => replaced(each, text));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, replaced(each, text)]),
  );
}

async function send(route: Route, at: string, body?: unknown): Promise<void> {
  const answer = await app.send(route.method.toUpperCase(), at, {
    token: anna.token,
    ...(body === undefined ? {} : { body }),
  });
  expect(answer.status, `${route.method} ${at}: ${answer.text.slice(0, 200)}`).to.be.below(500);
  expect(await readdir(directory), at).to.deep.equal(["copy"]);
}

describe("security family 5: texts that look like options of git", () => {
  it("are tried on every operation on repositories", () => {
    expect(onRepositories.length).to.be.greaterThan(15);
  });

  for (const route of onRepositories) {
    it(`do nothing in ${route.operationId}`, async () => {
      const keys = Object.keys((route.query as { shape?: object } | undefined)?.shape ?? {});
      const body = sampleBody(route);
      for (const text of texts) {
        const at = filled(route, text);
        await send(route, at, body === undefined ? undefined : replaced(body, text));
        for (const key of keys) {
          const query = `${key}=${encodeURIComponent(text)}`;
          // The rest of the path is good, so that the query is what is checked.
          await send(route, `${filled(route, head)}?${query}`, body);
        }
      }
    });
  }

  it("left the repository whole", async () => {
    const copy = path.join(directory, "copy");
    const url = app.url.replace("//", `//anna:${anna.token}@`);
    await git(copy, "fetch", "-q", `${url}/project/anna/project.git`, "main");
    expect(await git(copy, "fsck", "--strict")).to.equal("");
  });
});
