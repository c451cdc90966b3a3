import { expect } from "chai";

import { protection } from "../../../src/commands/protection/protection.ts";
import {
  type ProtectionRule,
  protectionStream,
} from "../../../src/events/protection/protection.ts";
import { compileTemplate, matchesTemplate } from "../../../src/platform/name-template.ts";
import { findProjectById } from "../../../src/projections/project/project.ts";
import { ruleProtections } from "../../../src/projections/protection/applicable.ts";
import { protectedFrom } from "../../../src/services/git/protection.ts";
import { startTestApp, type TestUser } from "../../support/app/app.ts";
import { leastLongestTurnMs } from "../../support/app/longest-turn.ts";
import { randomNumbers } from "../../support/app/random.ts";

/** One user's request leaves the event loop to others: the longest stretch of work is bounded. */
const app = await startTestApp();
const forge = "/project/anna/forge";
/** Of processor time, in a process that does nothing else. */
const turnMaxMs = 50;
/** Here one process is client, service and read models at once; the whole commit takes ten times as long. */
const turnOfAllMaxMs = 250;
let anna: TestUser;
let projectId: string;

before(async () => {
  anna = await app.givenUser("anna");
  ({ id: projectId } = await app.givenProject(anna, "forge"));
});

describe("the event loop", () => {
  it("is free while many refs are held against many rules", async () => {
    const hard = (n: number): string => `${"*a".repeat(120)}${n}`;
    const rules = Array.from({ length: 50 }, (_, n) => ({ rule: ruleOf(hard(n)) }));
    const db = app.platform.db;
    const row = { parent_type: "PROJECT", kind: "BRANCH", created_at: new Date() };
    const project = await findProjectById(db, projectId);
    expect(project).to.not.equal(undefined);
    if (project === undefined) return;
    await db("protection_rule").insert(
      rules.map(({ rule }) => ({
        ...row,
        id: crypto.randomUUID(),
        parent_id: project.id,
        template: rule.template,
        rule,
      })),
    );
    const commands = Array.from({ length: 500 }, (_, n) => ({
      ref: `refs/heads/${"a".repeat(220)}${n}`,
      before: null,
      after: "1".repeat(40),
    }));
    const head = { commands, capabilities: new Set<string>() };
    const protections = () => ruleProtections(db, project);
    const place = { project, role: "ADMIN" } as unknown as Parameters<typeof protectedFrom>[0];
    const longest = await leastLongestTurnMs(() =>
      protectedFrom(place, head, { protections, room: 1 }),
    );
    expect(longest, "25,000 matches").to.be.lessThan(turnMaxMs);
    await db("protection_rule").where("parent_id", project.id).delete();
  });

  it("is free while a commit of many deep files is made", async () => {
    const deep = Array.from({ length: 95 }, (_, n) => `directory-${n}`).join("/");
    const send = (branch: string, name: string) => {
      const actions = Array.from({ length: 1_000 }, (_, n) => ({
        action: "CREATE",
        path: `${deep}/${n % 10}/${name}-${n}`,
        content: "x",
      }));
      const body = { branch, message: "Deep", actions };
      return app.post(`${forge}/commit`, { token: anna.token, body });
    };
    let commits = 0;
    const longest = await leastLongestTurnMs(async () => {
      commits += 1;
      const answer = await send("main", `a${commits}`);
      expect(answer.status, answer.text.slice(0, 300)).to.equal(200);
    });
    expect(longest).to.be.lessThan(turnOfAllMaxMs);
  });

  it("meets no path that is deeper than any checkout needs", async () => {
    const path = Array(101).fill("d").join("/");
    const body = {
      branch: "main",
      message: "x",
      actions: [{ action: "CREATE", path, content: "" }],
    };
    const answer = await app.post(`${forge}/commit`, { token: anna.token, body });
    expect(answer.status).to.equal(422);
    expect(answer.text).to.contain("deeper than 100 directories");
  });
});

function ruleOf(template: string): ProtectionRule {
  const levels = { allowedToPush: "NO_ONE", allowedToMerge: "NO_ONE" } as const;
  return { kind: "BRANCH", template, ...levels, allowForcePush: false };
}

describe("protection rules", () => {
  it("are a hundred of a kind at most", () => {
    const parent = { parentId: crypto.randomUUID(), parentType: "PROJECT" } as const;
    const rules = new Map(
      Array.from({ length: 100 }, (_, n) => [crypto.randomUUID(), ruleOf(`r${n}`)] as const),
    );
    const create = (rule: ProtectionRule) =>
      protection.decide(
        { rules, applied: new Set() },
        {
          type: "CreateProtectionRule",
          ruleId: crypto.randomUUID(),
          ...parent,
          rule,
          by: anna.id,
          at: new Date().toISOString(),
        },
      );
    expect(() => create(ruleOf("one more"))).to.throw("There are 100 rules of this kind already");
    const tag = { kind: "TAG", template: "v*", allowToCreate: "ADMINS" } as const;
    expect(create(tag)).to.have.length(1);
    expect(protectionStream(parent.parentId)).to.contain(parent.parentId);
  });

  it("match as a plain reading of the template does", () => {
    const below = randomNumbers(7);
    const text = (from: readonly string[], length: number) =>
      Array.from({ length }, () => from[below(from.length)]).join("");
    let matched = 0;
    for (let turn = 0; turn < 5_000; turn += 1) {
      // Places beyond the 32nd are in another word.
      const start = "x".repeat(28 * below(3));
      const template = start + text(["a", "b", "/", "*", "**", "?", "é", "😀"], below(12));
      const name = start + text(["a", "b", "/", "é", "😀"], below(8));
      const expected = plainly(template).test(name);
      if (expected) matched += 1;
      expect(matchesTemplate(template, name), `${template} ${name}`).to.equal(expected);
    }
    expect(matched).to.be.greaterThan(100);
    expect(compileTemplate("*".repeat(255))("a/b")).to.equal(true);
  });
});

function plainly(template: string): RegExp {
  const parts = [...template.matchAll(/\*{2,}|./gsu)].map(([token]) =>
    token.startsWith("**") ? "[^]*?" : token === "*" ? "[^/]*?" : token === "?" ? "[^]" : token,
  );
  return new RegExp(`^${parts.join("")}$`, "u");
}
