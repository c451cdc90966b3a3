import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";

import type { PackageType } from "../../../src/events/package/version.ts";
import type { TestApp, TestUser } from "../app/app.ts";
import { loggedIn, type Visitor } from "../app/site-world.ts";
import { temporaryDirectory } from "../git/git.ts";
import { unescaped } from "./browser.ts";
import type { repositoriesAt } from "./registry.ts";

/** What the page of a repository of packages prints for a client. */
type Printed = Readonly<{ setUp: string; install: string; publish: string }>;

async function printedAt(who: Visitor, page: string): Promise<Printed> {
  const { status, text } = await who.see(page);
  expect(status, page).to.equal(200);
  const below = (title: string): string =>
    unescaped(new RegExp(`<h2>${title}</h2><pre[^>]*>([^<]*)</pre>`).exec(text)?.[1] ?? "");
  return { setUp: below("Set up"), install: below("Install"), publish: below("Publish") };
}

/** Words in capitals and what a person puts for each; the token comes last, as it may hold any of them. */
function filledIn(lines: string, words: Readonly<Record<string, string>>): string {
  const inOrder = Object.entries(words).sort(
    ([one], [other]) => Number(one === "TOKEN") - Number(other === "TOKEN"),
  );
  return inOrder.reduce((text, [word, value]) => text.replaceAll(word, value), lines);
}

type Place = Readonly<{
  cwd: string;
  /** Replaces the person's home, and for the root of the machine. */
  home: string;
  env?: NodeJS.ProcessEnv;
}>;

/**
 * Does what the lines say: those below a comment with a path are put into that file, the others are run by
 * a shell. `/etc` is a folder of the test, so that nothing of the machine changes.
 */
export async function follow(lines: string, { cwd, home, env = {} }: Place): Promise<string> {
  const etc = path.join(home, "etc");
  let script = "set -e\n";
  let file: string | undefined;
  const files = new Map<string, string>();
  for (const line of lines.replaceAll(/(?<![\w.])\/etc\//g, `${etc}/`).split("\n")) {
    const [, named] = /^# (\S+)$/.exec(line) ?? [];
    if (named !== undefined) file = named === "shell" ? undefined : path.resolve(cwd, named);
    else if (file === undefined) script += `${line}\n`;
    else files.set(file, `${files.get(file) ?? ""}${line}\n`);
  }
  for (const [name, text] of files) {
    await mkdir(path.dirname(name), { recursive: true });
    await writeFile(name, text);
  }
  const variables = { PATH: process.env["PATH"], HOME: home, ...env };
  const options = { cwd, env: variables, maxBuffer: 16 * 1024 ** 2 };
  const { stdout } = await promisify(execFile)("bash", ["-c", script], options);
  return stdout;
}

/** Where a person sits who reads the page of a repository and does what it says. */
export type Desk = Readonly<{
  home: string;
  /** A folder of the desk, made with these files. */
  folder: (name: string, files?: Readonly<Record<string, string | Buffer>>) => Promise<string>;
  /** Does what the page says, in one of the folders. */
  setUp: (cwd: string) => Promise<string>;
  install: (cwd: string) => Promise<string>;
  publish: (cwd: string) => Promise<string>;
  printed: Printed;
}>;

/** Desks of anna, each with a new repository of a project of hers. */
export const desksAt =
  (app: TestApp, anna: TestUser, at: ReturnType<typeof repositoriesAt>) =>
  async (
    type: PackageType,
    words: Readonly<Record<string, string>>,
    env: (home: string) => NodeJS.ProcessEnv = () => ({}),
    settings: object = {},
  ): Promise<Desk> => {
    const insider = await loggedIn(app, anna);
    const { repositoryUuid } = await at.local(`all-${type}`, type, settings);
    const page = `/project/anna/forge/repositories/${repositoryUuid}`;
    const home = await temporaryDirectory();
    const lines = await printedAt(insider, page);
    const fill = (text: string) => filledIn(text, { ...words, TOKEN: anna.token });
    const printed = {
      ...{ setUp: fill(lines.setUp), install: fill(lines.install), publish: fill(lines.publish) },
    };
    const doing = (text: string) => (cwd: string) => follow(text, { cwd, home, env: env(home) });
    return {
      home,
      printed,
      async folder(name, files = {}) {
        const folder = path.join(home, name);
        await mkdir(folder, { recursive: true });
        for (const [file, content] of Object.entries(files)) {
          await mkdir(path.dirname(path.join(folder, file)), { recursive: true });
          await writeFile(path.join(folder, file), content);
        }
        return folder;
      },
      setUp: doing(printed.setUp),
      install: doing(printed.install),
      // Lines that set a client up are followed by those who publish as well.
      publish: doing([printed.setUp, "# shell", printed.publish].join("\n")),
    };
  };
