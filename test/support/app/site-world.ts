import { expect } from "chai";
import { type Browser, browser, type Shown } from "../client/browser.ts";
import type { TestApp, TestUser } from "./app.ts";

/** What a browser requests when it opens an address. */
export const asPage = { accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" };

/** A browser that opens addresses as pages. */
export type Visitor = Browser & Readonly<{ see: (at: string) => Promise<Shown> }>;

export function visitor(app: TestApp): Visitor {
  const opened = browser(app.url);
  return { ...opened, see: (at) => opened.open(at, asPage) };
}

export async function loggedIn(app: TestApp, user: TestUser): Promise<Visitor> {
  const one = visitor(app);
  expect((await one.logIn(user)).status).to.equal(303);
  return one;
}

const readme = `# Read me

A [link](src/code.ts#L2), [up](../../../etc/passwd), an image ![logo](img/logo.svg) and https://example.org.

![far](https://evil.example/pixel.png)

- [x] done
- [ ] open

| a | b |
|---|---|
| 1 | 2 |

<script>alert(1)</script><img src=x onerror=alert(1)><b id="main" style="position:fixed">b</b>

[bad](javascript:alert(1)) <a href="jAvAscript:alert(1)">worse</a>
`;

const evilName = "<img src=x onerror=alert(1)>.txt";
const turnedName = "a\u202etxt.exe";

/** Files of the projects, among them hostile ones. */
export const files = {
  "README.md": readme,
  "src/code.ts": "/* begins\n still */ const a = 1;\nexport { a };\n",
  "src/deep/er.txt": "deeper\n",
  "img/logo.svg": '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
  "page.html": "<!doctype html><script>alert(1)</script>",
  "docs/big.md": `# Big\n${"x ".repeat(600_000)}`,
  [evilName]: "evil\n",
  [turnedName]: "turned\n",
} as const;
export { evilName, turnedName };

/** Commits files by REST. @returns the hash */
export async function committed(
  app: TestApp,
  user: TestUser,
  project: string,
  all: Readonly<Record<string, string>>,
  given: Readonly<{
    branch?: string;
    startBranch?: string;
    action?: string;
    message?: string;
  }> = {},
): Promise<string> {
  const {
    branch = "main",
    startBranch,
    action = "CREATE",
    message = "Change <b>files</b>",
  } = given;
  const actions = Object.entries(all).map(([path, content]) => ({ action, path, content }));
  const body = { branch, message, actions, ...(startBranch && { startBranch }) };
  const answer = await app.post(`${project}/commit`, { token: user.token, body });
  expect(answer.status, answer.text).to.equal(200);
  return String(answer.body["hash"]);
}
