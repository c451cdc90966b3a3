import { expect } from "chai";

import { compile, problems } from "../support/agent/pipeline-file.ts";

const jobs = async (...args: Parameters<typeof compile>) => (await compile(...args)).jobs;
const namesOf = async (...args: Parameters<typeof compile>) =>
  (await jobs(...args)).map(({ name }) => name);

describe("a pipeline file", () => {
  it("becomes jobs in the order of their stages", async () => {
    const file = `
stages: [build, test]
unit: {stage: test, script: npm test}
compile:
  stage: build
  script: [npm ci, npm run build]
last: {stage: .post, script: done}
first: {stage: .pre, script: begin}
`;
    expect(
      (await jobs(file)).map(({ name, stage, script }) => [name, stage, script]),
    ).to.deep.equal([
      ["first", ".pre", ["begin"]],
      ["compile", "build", ["npm ci", "npm run build"]],
      ["unit", "test", ["npm test"]],
      ["last", ".post", ["done"]],
    ]);
  });

  it("may have jobs named as keywords of jobs", async () => {
    const file = "tags: {script: x}\nretry: {script: x}\ntimeout: {script: x}\n";
    expect(await namesOf(file)).to.deep.equal(["tags", "retry", "timeout"]);
  });

  it("keeps every keyword of a job", async () => {
    const [job] = await jobs(`
variables: {SHARED: a, GLOBAL: g}
build:
  stage: build
  image: {name: node:20, entrypoint: [""], pull_policy: always}
  services: [postgres:16, {name: redis, alias: cache}]
  before_script: [one]
  script: two
  after_script: [three]
  variables: {SHARED: b, RAW: {value: $X, expand: false}}
  tags: [linux]
  allow_failure: {exit_codes: [3, 4]}
  artifacts: {paths: [out/], exclude: [out/tmp], expire_in: 1 week, reports: {junit: r.xml, dotenv: [a.env]}}
  cache: {key: {files: [lock], prefix: p}, paths: [.npm], policy: pull}
  environment: {name: review/$CI_COMMIT_REF_SLUG, url: "https://x", on_stop: stop, auto_stop_in: 2 days}
  retry: {max: 1, when: [script_failure]}
  timeout: 1h 30m
  interruptible: true
  resource_group: prod
  coverage: /\\d+%/
  release: {tag_name: v1, description: First}
stop: {stage: deploy, script: x, when: manual}
`);
    expect(job).to.deep.include({
      image: { name: "node:20", entrypoint: [""], pullPolicy: ["always"] },
      services: [{ name: "postgres:16" }, { name: "redis", alias: "cache" }],
      beforeScript: ["one"],
      script: ["two"],
      afterScript: ["three"],
      variables: [
        { key: "SHARED", value: "b", raw: false },
        { key: "GLOBAL", value: "g", raw: false },
        { key: "RAW", value: "$X", raw: true },
      ],
      tags: ["linux"],
      allowFailure: { always: false, exitCodes: [3, 4] },
      retry: { max: 1, when: ["script_failure"], exitCodes: [] },
      timeoutSeconds: 5_400,
      interruptible: true,
      resourceGroup: "prod",
      coverage: "/\\d+%/",
      release: { tagName: "v1", name: null, description: "First", ref: null },
    });
    expect(job?.artifacts).to.deep.include({
      paths: ["out/"],
      exclude: ["out/tmp"],
      expireIn: "604800",
      reports: { junit: ["r.xml"], dotenv: ["a.env"] },
    });
    expect(job?.cache[0]).to.deep.include({
      key: "p-hash of lock",
      paths: [".npm"],
      policy: "pull",
    });
    expect(job?.environment).to.deep.include({ onStop: "stop", autoStopInSeconds: 172_800 });
  });

  it("takes scripts for script, and nested lists of lines", async () => {
    const [job] = await jobs("a: {scripts: [one, [two, [three]]]}");
    expect(job?.script).to.deep.equal(["one", "two", "three"]);
  });

  it("gives jobs the keywords of default, which they may refuse", async () => {
    const file = `
default: {image: node, tags: [a], before_script: [x]}
all: {script: y}
own: {script: y, image: deno}
none: {script: y, inherit: {default: false}}
some: {script: y, inherit: {default: [tags]}}
`;
    const seen = (await jobs(file)).map(({ name, image, tags, beforeScript }) => [
      name,
      image?.name,
      tags.length,
      beforeScript.length,
    ]);
    expect(seen).to.deep.equal([
      ["all", "node", 1, 1],
      ["own", "deno", 1, 1],
      ["none", undefined, 0, 0],
      ["some", undefined, 1, 0],
    ]);
  });

  describe("extends", () => {
    it("merges maps and replaces lists, the nearest last", async () => {
      const [job] = await jobs(`
.base: {variables: {A: 1, B: 1}, script: [base], tags: [x]}
.more: {variables: {B: 2}}
job: {extends: [.base, .more], variables: {C: 3}, script: [own]}
`);
      expect(job?.variables.map(({ key, value }) => key + value)).to.deep.equal(["A1", "B2", "C3"]);
      expect(job?.script).to.deep.equal(["own"]);
      expect(job?.tags).to.deep.equal(["x"]);
    });

    it("is refused in a circle, and for what is not there", async () => {
      expect(await problems("a: {extends: b, script: x}\nb: {extends: a}")).to.deep.equal([
        "2:5 b.extends: a and b extend each other.",
      ]);
      expect(await problems("a:\n  extends: .b\n  script: x")).to.deep.equal([
        "2:3 a.extends: There is no job .b to extend.",
      ]);
    });

    it("goes eleven levels deep", async () => {
      const chain = (levels: number) =>
        Array.from({ length: levels }, (_, n) => `.j${n}: {extends: .j${n + 1}}`).join("\n");
      const file = (levels: number) =>
        `${chain(levels)}\n.j${levels}: {script: x}\njob: {extends: .j0}`;
      expect((await jobs(file(10)))[0]?.script).to.deep.equal(["x"]);
      expect((await problems(file(11)))[0]).to.contain("More than 11 levels");
    });
  });

  describe("!reference", () => {
    it("puts lines of another job in the place", async () => {
      const [job] = await jobs(`
.setup: {script: [one, two], variables: {URL: x}}
job:
  script: [!reference [.setup, script], three]
  variables: {URL: !reference [.setup, variables, URL]}
`);
      expect(job?.script).to.deep.equal(["one", "two", "three"]);
      expect(job?.variables).to.deep.equal([{ key: "URL", value: "x", raw: false }]);
    });

    it("is refused in a circle, and for what is not there", async () => {
      const circle = "a: {script: !reference [b, script]}\nb: {script: !reference [a, script]}";
      expect((await problems(circle))[0]).to.contain("nested deeper than 10 levels");
      expect(await problems("a:\n  script:\n    - !reference [.b, script]")).to.deep.equal([
        "3:18 : !reference [.b, script] names nothing in this file.",
      ]);
    });
  });

  it("knows anchors and merge keys", async () => {
    const [job] = await jobs(`
.a: &a {script: [x], tags: [one]}
job: {<<: *a, tags: [two]}
`);
    expect([job?.script, job?.tags]).to.deep.equal([["x"], ["two"]]);
  });

  describe("rules", () => {
    const file = (rules: string) => `job: {script: x, rules: [${rules}]}`;
    const when = async (rules: string, given = {}) => (await jobs(file(rules), given))[0]?.when;

    it("choose the first that applies, and leave the job out without one", async () => {
      const outer = { A: "1" };
      expect(
        await when("{if: $A == '2'}, {if: $A, when: manual}, {when: always}", { outer }),
      ).to.equal("manual");
      expect(await when("{if: $B}", { outer })).to.equal(undefined);
      expect(await when("{if: $A, when: never}, {when: always}", { outer })).to.equal(undefined);
      expect(await when("{if: $A}", { outer })).to.equal("on_success");
    });

    it("set variables, needs and allow_failure", async () => {
      const [, job] = await jobs(`
first: {stage: build, script: x}
job:
  script: x
  variables: {A: a}
  rules: [{when: manual, allow_failure: true, variables: {A: b}, needs: [first]}]
`);
      expect(job?.allowFailure.always).to.equal(true);
      expect(job?.variables).to.deep.equal([{ key: "A", value: "b", raw: false }]);
      expect(job?.needs).to.deep.equal([{ job: "first", artifacts: true }]);
    });

    it("compare changed paths, which are all when there is nothing before", async () => {
      const rules = "{changes: ['src/**/*.ts', '*.{md,txt}']}";
      expect(await when(rules, { changed: ["src/a/b.ts"] })).to.equal("on_success");
      expect(await when(rules, { changed: ["read.md"] })).to.equal("on_success");
      expect(await when(rules, { changed: ["docs/read.md", "src/a.js"] })).to.equal(undefined);
      expect(await when(rules, {})).to.equal("on_success");
    });

    it("check whether paths exist", async () => {
      const files = { Dockerfile: "", "a/package.json": "" };
      expect(await when("{exists: [Dockerfile]}", { files })).to.equal("on_success");
      expect(await when("{exists: ['**/package.json']}", { files })).to.equal("on_success");
      expect(await when("{exists: [package.json]}", { files })).to.equal(undefined);
    });

    it("expand variables in paths", async () => {
      const files = { "src/a.ts": "" };
      const outer = { PART: "$FOLDER/$EXTENSION", FOLDER: "src", EXTENSION: "*.ts" };
      expect(await when("{exists: [$PART]}", { files, outer })).to.equal("on_success");
      const changed = ["src/a.ts"];
      expect(await when("{changes: [$FOLDER/*]}", { changed, outer })).to.equal("on_success");
      // One that is not defined matches no path, where an empty text would match all.
      expect(await when("{exists: [$GONE/**]}", { files })).to.equal(undefined);
    });

    it("name what is wrong with a condition", async () => {
      const text = "job:\n  script: x\n  rules:\n    - if: $A ==\n";
      expect(await problems(text)).to.deep.equal([
        "4:7 job.rules.0.if: The condition ends where a value is expected.",
      ]);
    });
  });

  it("lets a variable from outside win over those of the file, and these over predefined ones", async () => {
    const file = `
variables: {A: file, B: file}
job: {script: x, rules: [{if: $A == "outer" && $B == "file" && $C == "given"}]}
`;
    const given = { outer: { A: "outer" }, predefined: { B: "given", C: "given" } };
    expect(await namesOf(file, given)).to.deep.equal(["job"]);
  });

  it("has every kind of report, and environments that never stop by themselves", async () => {
    const kinds = ["accessibility", "browser_performance", "load_performance", "requirements"];
    const reports = kinds.map((kind) => `${kind}: ${kind}.json`).join(", ");
    const environment = "{name: prod, auto_stop_in: never}";
    const [job] = await jobs(
      `job: {script: x, artifacts: {reports: {${reports}}}, environment: ${environment}}`,
    );
    expect(Object.keys(job?.artifacts?.reports ?? {})).to.deep.equal(kinds);
    expect(job?.environment?.autoStopInSeconds).to.equal(null);
  });

  describe("only and except", () => {
    const isIn = async (policy: string, given = {}) =>
      (await namesOf(`job: {script: x, ${policy}}`, given)).length === 1;

    it("fit refs by name, kind, source and pattern", async () => {
      expect(await isIn("only: [main]")).to.equal(true);
      expect(await isIn("only: [next]")).to.equal(false);
      expect(await isIn("only: [/^ma/]")).to.equal(true);
      expect(await isIn("only: tags")).to.equal(false);
      expect(await isIn("only: tags", { isTag: true, ref: "v1" })).to.equal(true);
      expect(await isIn("only: [schedules]", { source: "SCHEDULE" })).to.equal(true);
      expect(await isIn("except: [main]")).to.equal(false);
      expect(await isIn("except: {variables: ['$A']}", { outer: { A: "1" } })).to.equal(false);
      expect(await isIn("only: {changes: [docs/*]}", { changed: ["src/a"] })).to.equal(false);
      const changes = { changed: ["src/a"], outer: { PART: "src" } };
      expect(await isIn("only: {changes: [$PART/*]}", changes)).to.equal(true);
    });

    it("may be for one project alone", async () => {
      const given = { predefined: { CI_PROJECT_PATH: "anna/search" } };
      expect(await isIn("only: [branches@anna/search]", given)).to.equal(true);
      expect(await isIn("only: [branches@bob/search]", given)).to.equal(false);
      expect(await isIn("only: [/^ma/@anna/search]", given)).to.equal(true);
      expect(await isIn("only: [/^ma/@bob/search]", given)).to.equal(false);
      expect(await isIn("except: [main@bob/search]", given)).to.equal(true);
      expect(await isIn("only: ['/^a@b$/']", { ...given, ref: "a@b" })).to.equal(true);
    });

    it("have all jobs where the rules of the workflow let it start for a merge request", async () => {
      const workflow = "workflow: {rules: [{if: $WANTED}]}\njob: {script: x}";
      const given = { source: "MERGE_REQUEST_EVENT", outer: { WANTED: "1" } } as const;
      expect((await jobs(workflow, given)).map(({ name }) => name)).to.deep.equal(["job"]);
    });

    it("leave jobs without rules out of pipelines of merge requests", async () => {
      expect(await isIn("stage: test", { source: "MERGE_REQUEST_EVENT" })).to.equal(false);
      expect(await isIn("only: [merge_requests]", { source: "MERGE_REQUEST_EVENT" })).to.equal(
        true,
      );
      expect(await isIn("rules: [{when: always}]", { source: "MERGE_REQUEST_EVENT" })).to.equal(
        true,
      );
    });
  });

  describe("parallel", () => {
    it("makes numbered jobs", async () => {
      const made = await jobs("job: {script: x, parallel: 2}");
      expect(made.map(({ name, parallel }) => [name, parallel])).to.deep.equal([
        ["job 1/2", { index: 1, total: 2 }],
        ["job 2/2", { index: 2, total: 2 }],
      ]);
    });

    it("makes a job of each combination, with its variables", async () => {
      const file = `
job: {script: x, parallel: {matrix: [{OS: [linux, mac], NODE: ["20", "22"]}, {OS: win}]}}
after: {stage: deploy, script: y, needs: [job]}
one: {stage: deploy, script: y, needs: [{job: job, parallel: {matrix: [{OS: mac, NODE: "22"}]}}]}
`;
      const made = await jobs(file);
      expect(made.slice(0, 5).map(({ name }) => name)).to.deep.equal([
        "job: [linux, 20]",
        "job: [linux, 22]",
        "job: [mac, 20]",
        "job: [mac, 22]",
        "job: [win]",
      ]);
      expect(made[3]?.variables.map(({ key, value }) => `${key}=${value}`)).to.deep.equal([
        "OS=mac",
        "NODE=22",
      ]);
      expect(made[5]?.needs).to.have.length(5);
      expect(made[6]?.needs).to.deep.equal([{ job: "job: [mac, 22]", artifacts: true }]);
    });

    it("is refused beyond 200 jobs, without making them", async () => {
      const thousand = `[${Array.from({ length: 100 }, (_, n) => n).join(",")}]`;
      const matrix = `{A: ${thousand}, B: ${thousand}, C: ${thousand}}`;
      const started = process.cpuUsage();
      expect(
        await problems(`job:\n  script: x\n  parallel:\n    matrix: [${matrix}]`),
      ).to.deep.equal(["4:5 job.parallel.matrix: The matrix must make 1 to 200 jobs."]);
      expect(process.cpuUsage(started).user / 1_000).to.be.below(2_000);
    });
  });

  describe("needs", () => {
    it("are refused for what is not there or left out, unless optional", async () => {
      const file = (need: string) => `
out: {stage: build, script: x, rules: [{when: never}]}
job: {script: x, needs: [${need}]}
`;
      expect(await problems(file("gone"))).to.deep.equal(["3:18 job.needs: There is no job gone."]);
      expect((await problems(file("out")))[0]).to.contain("its rules left it out");
      expect((await jobs(file("{job: out, optional: true}")))[0]?.needs).to.deep.equal([]);
    });

    it("are refused in a circle and on a later stage", async () => {
      const circle =
        "a: {script: x, needs: [b]}\nb: {script: x, needs: [c]}\nc: {script: x, needs: [a]}";
      expect((await problems(circle))[0]).to.contain("The jobs wait for one another: a, b, c.");
      const later = "a: {stage: build, script: x, needs: [b]}\nb: {stage: test, script: x}";
      expect((await problems(later))[0]).to.contain("The job b is of a later stage.");
    });
  });

  describe("include", () => {
    it("reads files of the commit, which the including file wins over", async () => {
      const files = {
        "ci/a.yml": "include: ci/b.yml\njob: {script: [a], tags: [a]}",
        "ci/b.yml": "job: {script: [b], image: b}",
      };
      const [job] = await jobs("include: [ci/a.yml]\njob: {tags: [main]}", { files });
      expect([job?.script, job?.tags, job?.image?.name]).to.deep.equal([["a"], ["main"], "b"]);
    });

    it("reads files by glob, and of other projects", async () => {
      const files = { "ci/a.yml": "a: {script: x}", "ci/b.yml": "b: {script: x}", "ci/c.txt": "" };
      expect(await namesOf("include: {local: 'ci/*.yml'}", { files })).to.deep.equal(["a", "b"]);
      const readProjectFile = async (project: string, ref: string | null, path: string) =>
        project === "anna/ci" && ref === "v1" && path === "t.yml" ? "t: {script: x}" : undefined;
      const other = "include: {project: anna/ci, ref: v1, file: [t.yml]}";
      expect(await namesOf(other, { readProjectFile })).to.deep.equal(["t"]);
      expect((await problems(other))[0]).to.contain("There is no file t.yml in anna/ci");
    });

    it("is refused in a circle, beyond 100 files, and for other servers", async () => {
      const circle = { "a.yml": "include: b.yml", "b.yml": "include: a.yml" };
      expect((await problems("include: a.yml", { files: circle }))[0]).to.contain(
        "a.yml includes itself",
      );
      const readFile = async (path: string) => `include: ${Number(path.split(".")[0]) + 1}.yml`;
      expect((await problems("include: 1.yml", { readFile }))[0]).to.contain("More than 100 files");
      expect((await problems("include: https://x/y.yml"))[0]).to.contain("other servers");
      expect((await problems("include: {remote: 'https://x'}"))[0]).to.contain("nothing else");
      expect((await problems("include: gone.yml"))[0]).to.contain("There is no file gone.yml.");
    });
  });
});
