import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { text } from "node:stream/consumers";
import { expect } from "chai";
import { parse } from "yaml";

import type { JobSpec } from "../../src/events/pipeline/job-spec.ts";
import { type CorpusFile, corpus, repositoryFiles } from "../support/agent/pipeline-corpus.ts";
import { differences } from "../support/agent/pipeline-difference.ts";
import { compile } from "../support/agent/pipeline-file.ts";
import { git, temporaryDirectory } from "../support/git/git.ts";
import { skipFor } from "../support/process/program.ts";

const packageFile = path.resolve("node_modules/gitlab-ci-local/dist/index.js");
const isThere = existsSync(packageFile);

type Job = Readonly<{
  name: string;
  stage: string;
  when: string;
  allowFailure: unknown;
  needs: readonly string[] | null;
  variables: Readonly<Record<string, string>> | undefined;
}>;

describe("the pipeline file read by gitlab-ci-local", () => {
  skipFor(isThere ? [] : ["gitlab-ci-local is not installed"]);

  const used = new Set<RegExp>();
  const usedOf = (lines: RegExp, found: readonly string[]): void => {
    if (found.length > 0) used.add(lines);
  };
  let theirs: ReadonlyMap<string, readonly Job[]>;
  before(async () => {
    theirs = await readByThem();
  });

  it("has 60 files or more", () => {
    expect(corpus).to.have.length.of.at.least(60);
  });

  for (const file of corpus) {
    it(`makes the same jobs of ${file.name}`, async () => {
      const { jobs, stages } = await readByUs(file);
      const found = differenceOf(jobs, inOrder(theirs.get(file.name) ?? [], stages));
      const known = differences.filter(({ files }) => files.test(file.name));
      const isKnown = (line: string) => known.some(({ lines }) => lines.test(line));
      expect(found.filter((line) => !isKnown(line))).to.deep.equal([]);
      for (const { lines } of known)
        usedOf(
          lines,
          found.filter((line) => lines.test(line)),
        );
    });
  }

  it("differs from us where it is listed, and nowhere else", () => {
    const unused = differences.filter(({ lines }) => !used.has(lines));
    expect(unused.map(({ files, lines }) => `${files} ${lines}`)).to.deep.equal([]);
  });
});

/** One line for each thing that is not the same. */
function differenceOf(ours: readonly Job[], theirs: readonly Job[]): readonly string[] {
  const names = (jobs: readonly Job[]) => jobs.map(({ name }) => name).join(", ");
  const found = names(ours) === names(theirs) ? [] : [`jobs: ${names(ours)} / ${names(theirs)}`];
  for (const job of ours) {
    const other = theirs.find(({ name }) => name === job.name);
    if (other === undefined) continue;
    for (const key of ["stage", "when", "allowFailure", "needs", "variables"] as const) {
      if (other[key] === undefined && key === "variables") continue;
      const [one, two] = [JSON.stringify(job[key]), JSON.stringify(other[key])];
      const what = key === "allowFailure" ? `${key} of ${job.when}` : key;
      if (one !== two) found.push(`${job.name} ${what}: ${one} / ${two}`);
    }
  }
  return found;
}

const sorted = (map: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1)));

async function readByUs({ text: content }: CorpusFile) {
  const predefined = { CI_COMMIT_BRANCH: "main", CI_COMMIT_SHA: "abc", CI_PIPELINE_SOURCE: "push" };
  const read = await compile(content, { files: repositoryFiles, predefined });
  const jobs = read.jobs.map(
    (job: JobSpec): Job => ({
      ...{ name: job.name, stage: job.stage, when: job.when },
      allowFailure:
        job.allowFailure.exitCodes.length > 0
          ? job.allowFailure.exitCodes
          : job.allowFailure.always,
      needs: job.needs?.map((need) => need.job).sort() ?? null,
      variables: sorted(Object.fromEntries(job.variables.map(({ key, value }) => [key, value]))),
    }),
  );
  return { jobs, stages: read.stages };
}

type Question = Readonly<{ file: string; preview: boolean }>;
type Answer = Question & Readonly<{ output: string; said: string; exitCode: number }>;
const nameOf = (file: string): string => file.slice("case-".length, -".yml".length);

/** Reading a file takes a tenth of a second, so variables are compared where they are the point. */
const hasVariables = ({ name }: CorpusFile): boolean =>
  /variables|^(?:job-(?:inherit|extends|rules)|deep-|anchors|references|file-workflow|multi)/.test(
    name,
  );

async function readByThem(): Promise<ReadonlyMap<string, readonly Job[]>> {
  const repository = await givenRepository();
  const questions = corpus.flatMap((each) => {
    const file = `case-${each.name}.yml`;
    return [{ file, preview: false }, ...(hasVariables(each) ? [{ file, preview: true }] : [])];
  });
  const answers = await send(repository, questions);
  const failed = answers.filter(({ exitCode }) => exitCode !== 0);
  expect(failed.map(({ file, said }) => `${file}: ${said}`)).to.deep.equal([]);
  const previews = new Map(
    answers.filter(({ preview }) => preview).map(({ file, output }) => [file, output]),
  );
  const lists = answers.filter(({ preview }) => !preview);
  return new Map(
    lists.map(({ file, output }) => [nameOf(file), jobsOf(output, previews.get(file))]),
  );
}

async function givenRepository(): Promise<string> {
  const repository = await temporaryDirectory();
  const cases = corpus.map(({ name, text: content }) => [`case-${name}.yml`, content] as const);
  for (const [file, content] of [...cases, ...Object.entries(repositoryFiles)]) {
    await mkdir(path.dirname(path.join(repository, file)), { recursive: true });
    await writeFile(path.join(repository, file), content);
  }
  await git(repository, "init", "--quiet", "--initial-branch=main");
  await git(repository, "add", ".");
  await git(repository, "commit", "--quiet", "--message=Corpus");
  await git(repository, "remote", "add", "origin", "git@example.org:anna/search.git");
  await git(repository, "update-ref", "refs/remotes/origin/main", "HEAD");
  await git(repository, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main");
  return repository;
}

async function send(
  repository: string,
  questions: readonly Question[],
): Promise<readonly Answer[]> {
  const program = path.resolve("test/support/agent/gitlab-ci-local.mjs");
  const child = spawn(process.execPath, [program, packageFile], {
    cwd: repository,
    env: { PATH: process.env["PATH"], HOME: repository },
    stdio: ["pipe", "pipe", "inherit"],
  });
  child.stdin.end(JSON.stringify(questions));
  const [output] = await Promise.all([text(child.stdout), once(child, "close")]);
  return JSON.parse(output) as Answer[];
}

type Listed = Readonly<{
  name: string;
  stage: string;
  when: string;
  allow_failure: boolean | Readonly<{ exit_codes: number | readonly number[] }>;
  needs?: readonly Readonly<{ job: string }>[];
}>;
type Variables = Readonly<Record<string, unknown>>;
type Preview = Readonly<Record<string, Variables>>;

/** As GitLab names them: theirs are `job: [1/2]` and `job: [a,b]`. */
const named = (name: string): string =>
  name
    .replace(/: \[(\d+\/\d+)\]$/, " $1")
    .replace(/: \[(.*)\]$/, (_, cells: string) => `: [${cells.split(",").join(", ")}]`);

/** What a job takes of the variables of the file: a preview shows the two apart. */
function inheritedOf(file: Preview, job: Variables | undefined): Variables {
  const all = (file["variables"] ?? {}) as Variables;
  const { variables: wanted } = (job?.["inherit"] ?? {}) as { variables?: unknown };
  if (wanted === false) return {};
  if (!Array.isArray(wanted)) return all;
  return Object.fromEntries(Object.entries(all).filter(([key]) => wanted.includes(key)));
}

function jobsOf(list: string, preview: string | undefined): readonly Job[] {
  const file = (preview === undefined ? {} : parse(preview)) as Preview;
  const listed = (JSON.parse(list.slice(list.indexOf("["))) as Listed[]).filter(
    ({ when }) => when !== "never",
  );
  return listed.map(({ name, stage, when, allow_failure: allowed, needs }) => {
    const base = file[name] ?? file[name.replace(/: \[.*\]$/, "")];
    const own = { ...inheritedOf(file, base), ...(base?.["variables"] as Variables | undefined) };
    const values = Object.entries(own).map(([key, value]) => [key, String(value)] as const);
    return {
      ...{ name: named(name), stage, when },
      allowFailure: typeof allowed === "object" ? [allowed.exit_codes].flat() : allowed,
      needs: needs?.map(({ job }) => job).sort() ?? null,
      variables: preview === undefined ? undefined : sorted(Object.fromEntries(values)),
    };
  });
}

/** A list is in the order of the file; pipelines show jobs by stage. */
function inOrder(jobs: readonly Job[], stages: readonly string[]): readonly Job[] {
  return jobs.toSorted((a, b) => stages.indexOf(a.stage) - stages.indexOf(b.stage));
}
