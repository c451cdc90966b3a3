/** Keywords of a job, each with lines that use it. Jobs `first` and `second` of the stage `build` come before. */
const ofJob: Readonly<Record<string, string>> = {
  stage: "stage: deploy",
  image: "image: {name: node:20, entrypoint: ['']}",
  services: "services: [postgres:16, {name: redis, alias: cache}]",
  before_script: "before_script: [one, two]",
  after_script: "after_script: [three]",
  variables: "variables: {OWN: own, SHARED: job, NUMBER: 7}",
  tags: "tags: [linux, large]",
  needs: "needs: [first, {job: second, artifacts: false}]",
  dependencies: "dependencies: [first]",
  when: "when: manual",
  delayed: "when: delayed\n  start_in: 5 minutes",
  rules:
    "rules: [{if: '$CI_COMMIT_BRANCH == \"other\"', when: never}, {if: $CI_COMMIT_SHA, allow_failure: true}]",
  only: "only: [main]",
  except: "except: [tags]",
  allow_failure: "allow_failure: {exit_codes: [3]}",
  artifacts:
    "artifacts: {paths: [out/], expire_in: 1 week, reports: {junit: r.xml, dotenv: a.env}}",
  cache: "cache: {key: k, paths: [.npm]}",
  environment: "environment: {name: production, url: https://example.org}",
  release: "release: {tag_name: v1, description: First}",
  retry: "retry: {max: 2, when: [script_failure]}",
  timeout: "timeout: 1h 30m",
  interruptible: "interruptible: true",
  resource_group: "resource_group: production",
  parallel: "parallel: 2",
  matrix: "parallel: {matrix: [{OS: [linux, bsd], ARCH: arm}]}",
  extends: "extends: .hidden",
  coverage: "coverage: /\\d+%/",
  inherit: "inherit: {default: false, variables: [SHARED]}",
  reference: "script: !reference [.hidden, script]",
};

/** Keywords of a whole file. */
const ofFile: Readonly<Record<string, string>> = {
  stages: "stages: [lint, build, test, deploy]",
  variables: "variables: {SHARED: file, GLOBAL: {value: g, description: d}}",
  default: "default: {before_script: [default], tags: [small], retry: 1, timeout: 2h}",
  workflow:
    "workflow:\n  rules:\n    - if: $CI_COMMIT_TAG\n      when: never\n    - if: $CI_COMMIT_BRANCH\n      variables: {FLOW: flow}",
  include: "include: [{local: included.yml}, {local: '/more/*.yml'}]",
};

/** What the keywords above refer to. */
const common = `variables: {SHARED: file}
.hidden: {script: [hidden], variables: {SHARED: hidden, HIDDEN: hidden}, tags: [hidden]}
first: {stage: build, script: [first]}
second: {stage: build, script: [second]}
`;

/** Files of the repository that \`include\` and \`exists\` find. */
export const repositoryFiles: Readonly<Record<string, string>> = {
  "included.yml":
    "included: {script: [included]}\n.from: {variables: {FROM: include}, tags: [a]}\n",
  "more/one.yml": "one: {stage: build, script: [one]}\n",
  "more/two.yml": "two: {script: [two], needs: []}\n",
  "src/a.txt": "a",
  "docs/guide.md": "guide",
};

/** Pairs that no file may have: GitLab refuses them, and so do we. */
const contradicting = new Set([
  ...["rules only", "rules except", "when delayed", "parallel matrix"],
]);

/** The same without what the keywords of a file may hold. */
const jobsOfCommon = common.slice(common.indexOf("\n") + 1);

const jobOf = (name: string, keywords: readonly string[]): string => {
  const own = keywords.map((keyword) => `  ${ofJob[keyword]}`);
  const hasScript = keywords.some((keyword) => ["extends", "reference"].includes(keyword));
  return [`${name}:`, ...(hasScript ? [] : [`  script: [${name}]`]), ...own, ""].join("\n");
};

export type CorpusFile = Readonly<{ name: string; text: string }>;

/** A file for each keyword of a job: alone, and with each that follows it in the list. */
function pairsOfJob(): CorpusFile[] {
  const keywords = Object.keys(ofJob);
  return keywords.map((keyword, n) => {
    const others = keywords
      .slice(n + 1)
      .filter((other) => !contradicting.has(`${keyword} ${other}`));
    const jobs = others.map((other) => jobOf(`with-${other}`, [keyword, other]));
    const text = [common, jobOf("alone", [keyword]), ...jobs].join("\n");
    return { name: `job-${keyword}`, text };
  });
}

/** A file for each keyword of a file with all of jobs, and for each two keywords of a file. */
function pairsOfFile(): CorpusFile[] {
  const keywords = Object.keys(ofFile);
  const jobs = Object.keys(ofJob).map((each) => jobOf(`job-${each}`, [each]));
  return keywords.flatMap((keyword, n) => {
    const own = keyword === "variables" ? jobsOfCommon : common;
    const text = [ofFile[keyword], own, ...jobs].join("\n");
    const pairs = keywords.slice(n + 1).map((other) => {
      const both = [ofFile[keyword], ofFile[other], jobsOfCommon, jobOf("job", ["variables"])];
      return { name: `file-${keyword}-${other}`, text: both.join("\n") };
    });
    return [{ name: `file-${keyword}`, text }, ...pairs];
  });
}

const rule = (condition: string): string => `{script: [x], rules: [{if: '${condition}'}]}`;
const conditions: Readonly<Record<string, string>> = {
  equal: '$CI_COMMIT_BRANCH == "main"',
  unequal: '$CI_COMMIT_BRANCH != "main"',
  single: "$CI_PIPELINE_SOURCE == $SOURCE",
  unset: "$NOWHERE == null",
  "not-null": "$SOURCE != null",
  empty: '$EMPTY == ""',
  bare: "$EMPTY",
  matches: "$CI_COMMIT_BRANCH =~ /^ma/",
  "matches-not": "$CI_COMMIT_BRANCH !~ /^ma/",
  "no-case": "$CI_COMMIT_BRANCH =~ /^MAIN$/i",
  and: '$SOURCE && $CI_COMMIT_BRANCH == "other"',
  or: '$NOWHERE || $SOURCE == "push"',
  precedence: '$SOURCE == "push" || $SOURCE == "x" && $NOWHERE',
  grouped: '($SOURCE == "push" || $SOURCE == "x") && $NOWHERE',
};

/** Files that check one thing closely. */
const single: Readonly<Record<string, string>> = {
  conditions: [
    'variables: {SOURCE: push, EMPTY: ""}',
    ...Object.entries(conditions).map(
      ([name, text]) => `${name}: ${rule(text.replaceAll("'", "''"))}`,
    ),
  ].join("\n"),
  "rule-results": `
manual: {script: [x], rules: [{if: $CI_COMMIT_BRANCH, when: manual}]}
manual-allowed: {script: [x], rules: [{if: $CI_COMMIT_BRANCH, when: manual, allow_failure: true}]}
never: {script: [x], rules: [{if: $CI_COMMIT_BRANCH, when: never}, {when: always}]}
always: {script: [x], when: manual, rules: [{if: $CI_COMMIT_BRANCH, when: always}]}
kept: {script: [x], when: on_failure, rules: [{if: $CI_COMMIT_BRANCH}]}
none: {script: [x], rules: [{if: $NOWHERE}]}
last: {script: [x], rules: [{if: $NOWHERE, when: manual}, {when: on_success}]}
`,
  exists: `
there: {script: [x], rules: [{exists: [src/a.txt]}]}
glob: {script: [x], rules: [{exists: ['docs/**/*.md']}]}
absent: {script: [x], rules: [{exists: [nothing]}]}
`,
  order: `
stages: [b, a]
one: {stage: a, script: [x]}
two: {stage: b, script: [x]}
three: {stage: .post, script: [x]}
four: {stage: .pre, script: [x]}
five: {stage: a, script: [x]}
`,
  "deep-extends": `
.one: {variables: {A: "1", B: "1"}, script: [one], tags: [a, b]}
.two: {extends: .one, variables: {B: "2", C: "2"}}
three: {extends: .two, variables: {C: "3"}}
both: {extends: [.one, .two], tags: [c]}
`,
  anchors: `
.base: &base {script: [x], variables: &all {A: "1", B: "1"}}
merged: {<<: *base, variables: {<<: *all, B: "2"}}
aliased: {script: [x], variables: *all}
`,
  references: `
.setup: {script: [one, two], variables: {A: "1", B: "2"}}
lines: {script: [!reference [.setup, script], three]}
value: {script: [x], variables: {A: !reference [.setup, variables, B]}}
map: {script: [x], variables: !reference [.setup, variables]}
`,
  "needs-graph": `
stages: [a, b, c]
one: {stage: a, script: [x]}
two: {stage: b, script: [x], needs: []}
three: {stage: c, script: [x], needs: [one, two]}
four: {stage: c, script: [x], needs: [{job: one, artifacts: false}, {job: gone, optional: true}]}
same: {stage: b, script: [x], needs: [two]}
`,
  "needs-matrix": `
stages: [a, b]
one: {stage: a, script: [x], parallel: {matrix: [{OS: [l, b], V: ["1", "2"]}]}}
all: {stage: b, script: [x], needs: [one]}
some: {stage: b, script: [x], needs: [{job: one, parallel: {matrix: [{OS: l, V: "2"}]}}]}
`,
  matrix: `
one: {script: [x], parallel: {matrix: [{A: [x, y], B: [p, q]}, {A: z, C: [r]}]}}
count: {script: [x], parallel: 3}
`,
  variables: `
variables: {A: file, B: "$A and more", C: {value: plain, expand: false}, D: 12, E: true}
own: {script: [x], variables: {A: job, F: "$B"}}
inherit-none: {script: [x], inherit: {variables: false}}
inherit-one: {script: [x], inherit: {variables: [A]}}
`,
  "rule-variables": `
variables: {A: file}
own: {script: [x], variables: {B: job}, rules: [{if: $CI_COMMIT_BRANCH, variables: {A: rule, B: rule}}]}
seen: {script: [x], variables: {B: job}, rules: [{if: '$B == "job"'}]}
`,
  "only-except": `
main: {script: [x], only: [main]}
other: {script: [x], only: [other]}
pattern: {script: [x], only: [/^ma.*$/]}
branches: {script: [x], only: [branches]}
tags: {script: [x], only: [tags]}
not-main: {script: [x], except: [main]}
pushes: {script: [x], only: {refs: [pushes]}}
condition: {script: [x], only: {variables: ['$CI_COMMIT_BRANCH == "main"']}}
`,
  "allow-failure": `
yes: {script: [x], allow_failure: true}
no: {script: [x], allow_failure: false}
manual: {script: [x], when: manual}
manual-no: {script: [x], when: manual, allow_failure: false}
codes: {script: [x], allow_failure: {exit_codes: [1, 2]}}
`,
  trigger: `
child: {trigger: {include: [{local: included.yml}]}}
short: {trigger: {include: included.yml, strategy: depend}}
`,
  "include-rules": `
include: [{local: included.yml, rules: [{if: $NOWHERE}]}, {local: more/one.yml, rules: [{if: $CI_COMMIT_BRANCH}]}]
own: {script: [x]}
`,
  "include-over": `
include: included.yml
included: {tags: [over]}
own: {extends: .from, script: [x]}
`,
  "workflow-default": `
workflow: {rules: [{when: always}]}
job: {script: [x]}
tagged: {script: [x], only: [tags]}
`,
  "workflow-variables": `
variables: {A: file}
workflow: {rules: [{if: $NOWHERE, variables: {A: no}}, {when: always, variables: {A: flow, B: flow}}]}
job: {script: [x]}
own: {script: [x], variables: {A: job}}
`,
  "default-image": `
image: node:20
before_script: [global]
job: {script: [x]}
none: {script: [x], inherit: {default: false}}
own: {script: [x], before_script: []}
`,
  "multi-line": `
job:
  script:
    - |
      one
      two
    - [three, [four]]
  variables:
    TEXT: |
      a
      b
    FOLDED: >-
      c
      d
`,
  "hidden-only-extended": `
.a: {stage: deploy, when: manual}
job: {extends: .a, script: [x]}
again: {extends: .a, script: [x], when: on_failure}
`,
};

const singles = Object.entries(single).map(([name, text]) => ({ name, text }));

/** Every keyword alone, every two of them together, and what needs a closer look. */
export const corpus: readonly CorpusFile[] = [...pairsOfJob(), ...pairsOfFile(), ...singles];
