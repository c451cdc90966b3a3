import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "chai";

import { importCircles } from "./support/tidy/import-circles.ts";
import { limitersElsewhere, limitersIn } from "./support/tidy/limiters.ts";
import { dialectInDocument, dialectInNames, dialectInSource } from "./support/tidy/plain-words.ts";
import { isImportAllowed } from "./support/tidy/rooms.ts";

/**
 * Packages that only their owners may name, layers or files, so that a swap touches one of them. That of YAML is
 * named where depth is bounded: its own `parse` lets a short text end the process.
 */
const packageOwners: Readonly<Record<string, readonly string[]>> = {
  "@eventstore/db-client": ["platform"],
  "@koa/router": ["http"],
  koa: ["http"],
  "simple-git": ["git"],
  yaml: ["platform/bounded-yaml.ts", "pipeline-file/document.ts", "pipeline-file/value.ts"],
};

/**
 * Files of `src/http/page`, besides `core`, that wait for the read models by hand, and why `execute` and
 * `executeProcess` of a request do not serve them.
 */
const waitsByHand: Readonly<Record<string, string>> = {
  "access/owner.ts": "waits for the head of the log before it reads",
  "access/second-factor.ts": "runs while a caller is authenticated, before there is a request",
  "access/session.ts": "a session is opened by whom it lets in, not by the caller",
  "api/team/transfer-offer.ts": "the cause of the transfer is the event of its acceptance",
  "api/webhook/replay-limit.ts": "waits for the head of the log before it counts",
  "page/login/external-account.ts": "another login of the same person may have made the account",
  "protocol/git/http.ts": "waits for pushes that are not recorded yet",
  "protocol/lfs/lock.ts": "a request of Git LFS has an envelope of its own",
  "protocol/lfs/object.ts": "a request of Git LFS has an envelope of its own",
  "protocol/package/core/signing.ts": "the service makes the key that a repository signs with",
  "protocol/runner/authentication.ts": "the service confirms a token that an agent uses",
};

/** Skips tests that need a program which is not installed. */
const skipper = path.join("test", "support", "process", "program.ts");

const linesMax = 400;
const folderFilesMax = 40;
const functionLinesMax = 70;

/** Not bundled, so loaded by Node.js, which finds the names of packages in CommonJS. */
const unbundled: ReadonlySet<string> = new Set(["ioredis"]);

/** A file that declares a decider is given time, ids and facts; `handle` and the processes do the I/O. */
const declaresDecider = /^(?:export )?const \w+: (?:Decider|Slice)</m;

/** Holds a program that runs by a command of its own, and its parts. */
const standalone = path.join("test", "chaos") + path.sep;

const sources = await filesIn("src", ".ts");
const tests = await filesIn("test", ".ts");
const benchmarks = await filesIn("bench", ".ts");
const documents = [
  ...["README.md", "CHANGELOG.md", "CONTRIBUTING.md"],
  ...(await filesIn("docs", ".md")),
];
const texts = new Map<string, string>();
for (const file of [...sources, ...tests, ...benchmarks, ...documents]) {
  texts.set(file, await readFile(file, "utf8"));
}
/** They name what they refuse. */
const refusing = [
  "tidy.check.ts",
  "support/tidy/plain-words.ts",
  "support/tidy/plain-words.test.ts",
].map((file) => path.join("test", file));
const wordy = [...sources, ...tests].filter((file) => !refusing.includes(file));

/** What breaks a rule in a text: where it is known, with the line. */
type Rule = (text: string, file: string) => Iterable<string>;

/** A rule holds for all files; a failure lists every file and line that breaks it. */
function rule(title: string, files: readonly string[], broken: Rule): void {
  it(title, () => {
    const all = files.flatMap((file) =>
      Array.from(broken(texts.get(file) ?? "", file), (what) => `${file}: ${what}`),
    );
    expect(all, all.join("\n")).to.deep.equal([]);
  });
}

/** Refuses what the pattern finds. */
const without =
  (pattern: RegExp, reason: string): Rule =>
  (text) =>
    Array.from(text.matchAll(pattern), ({ 0: found, index }) => {
      return `line ${lineAt(text, index)}: "${found.trim()}": ${reason}`;
    });

const lineAt = (text: string, index: number): number => text.slice(0, index).split("\n").length;

describe("tidy", () => {
  const typescript = [...sources, ...tests];

  rule(`has at most ${linesMax} lines in a file`, typescript, (text) => {
    const count = text.split("\n").length - 1;
    return count > linesMax ? [`${count} lines`] : [];
  });
  rule(`has at most ${functionLinesMax} lines in a function`, typescript, longFunctions);
  rule("keeps to plain words in comments and names of tests", wordy, dialectInSource);
  rule("keeps to plain words in names", [...wordy, ...benchmarks], (text) =>
    dialectInNames(text).map((broken) => {
      const [, name = ""] = /^"(\w+)"/.exec(broken) ?? [];
      return `line ${lineAt(text, text.indexOf(name))}: ${broken}`;
    }),
  );
  rule("keeps to plain words in documents", documents, dialectInDocument);
  rule(
    "leaves unfinished work to issues",
    wordy,
    without(/\b(?:TODO|FIXME|XXX|HACK)\b/g, "unfinished work belongs in an issue"),
  );
  rule(
    "waits for no events of queues",
    wordy,
    without(
      /\b(?:QueueEvents|waitUntilFinished)\b/g,
      "queue events are lost on PostgreSQL: a job is known by the event it appends",
    ),
  );
  rule(
    "has no test that runs alone or not at all",
    wordy,
    without(
      /\b(?:it|describe)\.(?:only|skip)\(|\bx(?:it|describe)\(/g,
      "every test runs with the others",
    ),
  );
  rule(
    "skips tests by needsProgram only, which says why",
    wordy.filter((file) => file !== skipper),
    without(/\bthis\.skip\(|\.pending = /g, `only needsProgram of ${skipper} may skip tests`),
  );
  rule("keeps helpers of tests in test/support", tests, misplaced);

  it(`keeps at most ${folderFilesMax} files in a folder`, () => {
    const files = new Map<string, number>();
    for (const file of typescript) {
      const folder = path.dirname(file);
      files.set(folder, (files.get(folder) ?? 0) + 1);
    }
    const crowded = [...files].filter(([, count]) => count > folderFilesMax);
    expect(crowded).to.deep.equal([]);
  });
});

describe("tidy sources", () => {
  rule("name the ending of a file that they import", sources, (text) =>
    importsIn(text)
      .filter(({ specifier }) => specifier.startsWith(".") && !/\.(?:ts|json)$/.test(specifier))
      .map(({ specifier, line }) => `line ${line}: no extension: ${specifier}`),
  );
  rule("import packages where their owners are", sources, foreignPackages);
  rule("import downwards only", sources, (text, file) => {
    const inside = path.relative("src", file);
    return importsIn(text).flatMap(({ specifier, line }) => {
      const target = path.normalize(path.join(path.dirname(inside), specifier));
      if (!specifier.startsWith(".") || isImportAllowed(inside, target)) return [];
      return [`line ${line}: may not import ${target}`];
    });
  });
  rule(
    "decide in command slices without time, ids and I/O of their own",
    sources.filter(
      (file) => layerOf(file) === "commands" && declaresDecider.test(texts.get(file) ?? ""),
    ),
    without(
      /\b(?:Date\.now|new Date\(\)|Math\.random|randomUUID|async|await)\b/g,
      "a command slice is pure: time, ids and I/O come in with the command",
    ),
  );
  rule(
    "read the environment in config.ts only",
    sources.filter((file) => file !== path.join("src", "config.ts")),
    without(/process\.env/g, "only config.ts reads the environment"),
  );

  it("do not import one another in a circle", () => {
    expect(
      importCircles(new Map(sources.map((file) => [file, texts.get(file) ?? ""]))),
    ).to.deep.equal([]);
  });

  it("wait for read models in execute, except where a reason is listed", () => {
    const waiting = sources
      .map((file) => path.relative(path.join("src", "http"), file))
      .filter((inside) => !inside.startsWith("..") && !inside.startsWith("core"))
      .filter((inside) =>
        /\b(visible|untilVisible)\(/.test(texts.get(path.join("src", "http", inside)) ?? ""),
      );
    expect(waiting).to.deep.equal(Object.keys(waitsByHand));
  });

  it("bound what is held at once by Limit, except where a reason is listed", () => {
    const found = sources
      .filter((file) => limitersIn(texts.get(file) ?? "").length > 0)
      .map((file) => path.relative("src", file));
    expect(found).to.deep.equal(Object.keys(limitersElsewhere));
  });

  it("import bundled CommonJS packages by their default export only, where they load them late", async () => {
    const broken: string[] = [];
    for (const file of sources) {
      const text = texts.get(file) ?? "";
      const loads = text.matchAll(/\{([^{}]*)\} = await import\("([^."][^"]*)"\)/g);
      for (const { 1: names = "", 2: name = "", index } of loads) {
        if (unbundled.has(name) || name.startsWith("node:")) continue;
        if (/^\s*default:/.test(names) || (await hasNamedExports(name))) continue;
        broken.push(`${file}: line ${lineAt(text, index)}: ${name}`);
      }
    }
    expect(broken, broken.join("\n")).to.deep.equal([]);
  });
});

async function hasNamedExports(name: string): Promise<boolean> {
  const file = fileURLToPath(import.meta.resolve(name));
  if (file.endsWith(".mjs")) return true;
  for (let at = path.dirname(file); at !== path.dirname(at); at = path.dirname(at)) {
    const text = await readFile(path.join(at, "package.json"), "utf8").catch(() => undefined);
    if (text !== undefined) return (JSON.parse(text) as { type?: string }).type === "module";
  }
  return false;
}

async function filesIn(root: string, ending: string): Promise<readonly string[]> {
  const files = await readdir(root, { recursive: true });
  return files
    .filter((file) => file.endsWith(ending))
    .map((file) => path.join(root, file))
    .sort();
}

// A top-level function runs from its opening line to the first closing brace in column one.
function longFunctions(text: string): string[] {
  const broken: string[] = [];
  let start: number | undefined;
  for (const [index, line] of text.split("\n").entries()) {
    if (/^(?:export )?(?:async )?function\b/.test(line)) start = index;
    if (start !== undefined && line.startsWith("}")) {
      const length = index - start + 1;
      if (length > functionLinesMax) broken.push(`line ${start + 1}: ${length} lines`);
      start = undefined;
    }
  }
  return broken;
}

/** Files of tests end so that a run finds them; everything else is a helper. */
function misplaced(_text: string, file: string): string[] {
  const isTest = /\.(?:test|system|check)\.ts$/.test(file) || file.startsWith(standalone);
  const isHelper = file.startsWith(path.join("test", "support") + path.sep);
  return isTest || isHelper
    ? []
    : ["ends in none of .test.ts, .system.ts and .check.ts: move helpers to test/support"];
}

function importsIn(text: string): readonly Readonly<{ specifier: string; line: number }>[] {
  return Array.from(
    text.matchAll(/\b(?:from|import)\s*\(?"([^"]+)"/g),
    ({ 1: specifier = "", index }) => ({ specifier, line: lineAt(text, index) }),
  );
}

function layerOf(file: string): string {
  return path.relative("src", file).split(path.sep)[0] ?? "";
}

function foreignPackages(text: string, file: string): string[] {
  return importsIn(text).flatMap(({ specifier, line }) => {
    const owners = packageOwners[specifier];
    const inside = path.relative("src", file);
    const owns = (owner: string): boolean => inside === owner || inside.startsWith(`${owner}/`);
    if (owners === undefined || owners.some(owns)) return [];
    return [`line ${line}: only ${owners.join(", ")} may import ${specifier}`];
  });
}
