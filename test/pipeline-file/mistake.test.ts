import { expect } from "chai";

import { problems } from "../support/agent/pipeline-file.ts";

describe("a pipeline file", () => {
  describe("with mistakes", () => {
    it("names line, column, key and reason of each", async () => {
      const file = `job:
  script: 5
  imge: x
  retry: 7
other: []
third:
  stage: nowhere
  artifacts:
    when: sometimes
`;
      expect(await problems(file)).to.deep.equal([
        "2:3 job.script: It must be text or a list of texts.",
        "3:3 job.imge: There is no such keyword here.",
        "4:3 job.retry.max: It must be at most 2.",
        "5:1 other: It is no keyword, and a job must be a map of keywords.",
        "9:5 third.artifacts.when: It must be on_success, on_failure or always.",
      ]);
    });

    it("names the places of those in keywords for all jobs", async () => {
      const file = `job: {script: x}
services:
  - name: 5
image: 5
cache: {policy: x}
variables: {A: [b]}
stages: 5
default:
  image: [a]
  tags: {foo: a}
  artifacts: {expire_in: [x]}
workflow:
  auto_cancel: {on_new_commit: x}
`;
      expect(await problems(file)).to.deep.equal([
        "3:5 services.0.name: It must be text.",
        "5:9 cache.policy: It must be pull-push, pull or push.",
        "6:13 variables.A: It must be text, a number or {value: …, expand: …}.",
        "7:1 stages: It must be text.",
        "9:3 default.image: It must be a map of keywords.",
        "10:3 default.tags: It must be text.",
        "11:15 default.artifacts.expire_in: It must be never or a duration such as 1h 30m.",
        "13:17 workflow.auto_cancel.on_new_commit: It must be conservative, interruptible or none.",
      ]);
    });

    for (const [what, text, reason] of [
      ["broken YAML", "job: [", "1:7"],
      ["two documents", "a: 1\n---\nb: 2", "more than one document"],
      ["a list at the top", "- a", "must be a map"],
      ["an unknown anchor", "a: *b", "anchor b is not defined"],
      ["an anchor inside itself", "a: &a [*a]", "anchor a is not defined"],
      ["NUL in a script", 'job: {script: "a\\0b"}', "1:15 : The text contains a NUL"],
      ["NUL in a key", '{"a\\0": []}', "1:2 : The text contains a NUL"],
      [
        "half of a surrogate pair",
        'job: {tags: ["\\ud800"], script: x}',
        "half of a surrogate pair",
      ],
      ["an unknown stage", "job: {stage: x, script: y}", "There is no stage x among"],
      ["a missing script", "job: {stage: test}", "neither script nor trigger"],
      ["a delayed job without a time", "job: {script: x, when: delayed}", "needs start_in"],
      [
        "a rule that delays without a time",
        "job: {script: x, rules: [{if: $A, when: delayed}]}",
        "job.rules: A delayed job needs start_in",
      ],
      [
        "a time of a job that is not delayed",
        "job: {script: x, start_in: 1 day}",
        "job.start_in: start_in is for delayed jobs",
      ],
      [
        "a time of a rule that does not delay",
        "job: {script: x, when: delayed, start_in: 1 day, rules: [{when: manual, start_in: 1 day}]}",
        "job.rules: start_in is for delayed jobs",
      ],
      [
        "options without a value",
        "variables: {A: {options: [a, b]}}",
        "variables.A: The value must be one of the options",
      ],
      [
        "a value that is none of its options",
        "variables: {A: {value: c, options: [a, b]}}",
        "variables.A: The value must be one of the options",
      ],
      [
        "a rule that waits for more than a week",
        "job: {script: x, rules: [{when: delayed, start_in: 8 days}]}",
        "a week at most",
      ],
      ["rules with only", "job: {script: x, rules: [], only: [a]}", "together with only"],
      ["a bad name of a variable", "variables: {a-b: x}", "is no name of a variable"],
      ["a map for a variable", "variables: {A: {b: c}}", "variables.A"],
      ["a bad duration", "job: {script: x, timeout: soon}", "must be a duration"],
    ] as const) {
      it(`refuses ${what}`, async () => {
        expect((await problems(text)).join("\n")).to.contain(reason);
      });
    }

    it("are none where a rule or its job delays, or a value is an option", async () => {
      const file = `
variables: {A: {value: 5, options: [5, 6]}, B: {options: [""], value: ""}}
a: {script: x, start_in: 1 day, rules: [{if: $A, when: delayed}]}
b: {script: x, when: delayed, start_in: 1 day, rules: [{start_in: 2 days}, {when: manual}]}
`;
      expect(await problems(file)).to.deep.equal([]);
    });

    it("reports twenty at most", async () => {
      const file = Array.from({ length: 100 }, (_, n) => `j${n}: []`).join("\n");
      expect(await problems(file)).to.have.length(20);
    });
  });
});
