import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

/** Who may import whom. A folder may always import itself; what is not listed is forbidden. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  events: [],
  platform: ["events", "config.ts"],
  commands: ["events", "platform"],
  projections: ["events", "platform"],
  workers: ["events", "platform", "commands", "projections"],
  git: ["events", "platform", "commands", "projections", "workers"],
  http: ["events", "platform", "commands", "projections", "workers", "git"],
  ssh: ["events", "platform", "commands", "projections", "workers", "git"],
  embedded: ["platform", "config.ts"],
  cli: [
    ...[
      "events",
      "platform",
      "commands",
      "projections",
      "workers",
      "git",
      "http",
      "ssh",
      "embedded",
    ],
    ...["config.ts", "main.ts", "first-administrator.ts"],
  ],
};

/** Packages that only their owners may name, so that a swap touches one folder. */
const packageOwners: Readonly<Record<string, readonly string[]>> = {
  "@eventstore/db-client": ["platform"],
  "@koa/router": ["http"],
  koa: ["http"],
  "simple-git": ["platform"],
};

const linesMax = 400;
const functionLinesMax = 70;

const sources = await typescriptFiles("src");
const tests = await typescriptFiles("test");

describe("tidy", () => {
  for (const file of [...sources, ...tests]) {
    it(`${file} keeps the rules of every file`, async () => {
      const text = await readFile(file, "utf8");
      const broken = [...sizesBroken(text), ...wordsBroken(file, text)];
      expect(broken).to.deep.equal([]);
    });
  }

  for (const file of sources) {
    it(`${file} keeps the rules of its folder`, async () => {
      const text = await readFile(file, "utf8");
      expect([...importsBroken(file, text), ...purityBroken(file, text)]).to.deep.equal([]);
    });
  }
});

async function typescriptFiles(root: string): Promise<readonly string[]> {
  const files = await readdir(root, { recursive: true });
  return files
    .filter((file) => file.endsWith(".ts"))
    .map((file) => path.join(root, file))
    .sort();
}

function sizesBroken(text: string): string[] {
  const broken: string[] = [];
  const lines = text.split("\n");
  if (lines.length - 1 > linesMax) broken.push(`${lines.length - 1} lines, more than ${linesMax}`);

  // A top-level function runs from its opening line to the first closing brace in column one.
  let start: number | undefined;
  for (const [index, line] of lines.entries()) {
    if (/^(?:export )?(?:async )?function\b/.test(line)) start = index;
    if (start !== undefined && line.startsWith("}")) {
      const length = index - start + 1;
      if (length > functionLinesMax) broken.push(`function at ${start + 1} has ${length} lines`);
      start = undefined;
    }
  }
  return broken;
}

function wordsBroken(file: string, text: string): string[] {
  if (file === path.join("test", "tidy.test.ts")) return [];
  const broken: string[] = [];
  if (/\b(?:TODO|FIXME|XXX|HACK)\b/.test(text)) broken.push("unfinished work belongs in an issue");
  if (/\b(?:QueueEvents|waitUntilFinished)\b/.test(text)) {
    broken.push("queue events are lost on PostgreSQL: a job is known by the event it appends");
  }
  if (/\b(?:it|describe)\.(?:only|skip)\(|\bthis\.skip\(/.test(text)) {
    broken.push("a test that runs alone or not at all");
  }
  return broken;
}

function importsBroken(file: string, text: string): string[] {
  const inside = path.relative("src", file);
  const folder = inside.split(path.sep)[0] ?? "";
  const broken: string[] = [];
  for (const [, specifier = ""] of text.matchAll(/\b(?:from|import)\s*\(?"([^"]+)"/g)) {
    if (!specifier.startsWith(".")) {
      const owners = packageOwners[specifier];
      if (owners !== undefined && !owners.includes(folder)) {
        broken.push(`only ${owners.join(", ")} may import ${specifier}`);
      }
      continue;
    }
    if (!/\.(?:ts|json)$/.test(specifier)) broken.push(`no extension: ${specifier}`);
    const target = path.normalize(path.join(path.dirname(inside), specifier)).split(path.sep)[0];
    const allowed = mayImport[folder];
    if (allowed !== undefined && target !== folder && !allowed.includes(target ?? "")) {
      broken.push(`${folder} may not import ${specifier}`);
    }
  }
  return broken;
}

/** A decider is given time, ids and facts; only `handle` and the processes over it do I/O. */
const impureCommands = new Set(["handle.ts", "process"]);

function purityBroken(file: string, text: string): string[] {
  const [, folder, name = ""] = file.split(path.sep);
  const broken: string[] = [];
  const impure = /\b(?:Date\.now|new Date\(\)|Math\.random|randomUUID|async|await)\b/;
  if (folder === "commands" && !impureCommands.has(name) && impure.test(text)) {
    broken.push("a command slice is pure: time, ids and I/O come in with the command");
  }
  if (/process\.env/.test(text) && file !== path.join("src", "config.ts")) {
    broken.push("only config.ts reads the environment");
  }
  return broken;
}
