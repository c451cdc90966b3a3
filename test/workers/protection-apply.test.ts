import { expect } from "chai";
import { handle } from "../../src/commands/handle.ts";
import { createProject } from "../../src/commands/process/create-project.ts";
import { protection } from "../../src/commands/protection.ts";
import { team } from "../../src/commands/team.ts";
import { Alias, ProjectId, TeamId } from "../../src/events/ids.ts";
import { protectionStream } from "../../src/events/protection.ts";
import { deterministicId } from "../../src/platform/deterministic-id.ts";
import type { WorkerDeps } from "../../src/workers/deps.ts";
import { protectionApplyWorker } from "../../src/workers/protection-apply.ts";
import { at, metadataFor } from "../support/history.ts";
import { givenProject, testWorkers } from "../support/worker-deps.ts";

const { deps } = await testWorkers();
const projectsCount = 5;
const parentId = TeamId.parse(deterministicId("team"));
const applyId = deterministicId("apply");
const rule = { kind: "TAG", template: "v*", allowToCreate: "ADMINS" } as const;
const projectIds = Array.from({ length: projectsCount }, (_, index) =>
  ProjectId.parse(deterministicId("below", index)),
);
const envelope = (name: string) => metadataFor(deterministicId("command", name));

before(async () => {
  const { userId: by } = await givenProject(deps, "other");
  const { store } = deps;
  const stamp = { by, at };
  const details = { title: "T", description: null, private: true, avatar: null };
  const command = {
    type: "CreateTeam",
    teamId: parentId,
    ownerId: by,
    ownerType: "USER",
    alias: Alias.parse("tools"),
    details,
    ...stamp,
  } as const;
  await handle(store, team, { id: parentId, command, metadata: envelope("team") });
  for (const [index, projectId] of projectIds.entries()) {
    const facts = { title: "P", description: null, language: null, private: true } as const;
    const order = {
      type: "CreateProject",
      projectId,
      ownerId: parentId,
      ownerType: "TEAM",
      alias: Alias.parse(`project-${index}`),
      defaultBranch: "main",
      ...facts,
      ...stamp,
    } as const;
    await createProject({ store, now: () => at }, order, envelope(`project ${index}`));
  }
  const parent = { parentId, parentType: "TEAM" } as const;
  const ruleId = deterministicId("rule");
  const create = { type: "CreateProtectionRule", ruleId, rule, ...parent, ...stamp } as const;
  await handle(store, protection, { id: parentId, command: create, metadata: envelope("rule") });
  const request = { type: "RequestApply", applyId, kind: "TAG", ...parent, ...stamp } as const;
  const order = { id: parentId, command: request, metadata: envelope("request") };
  await deps.visible((await handle(store, protection, order)).position);
});

const typesOf = async (id: string) => {
  const types: string[] = [];
  for await (const { type } of deps.store.readStream(protectionStream(id))) types.push(type);
  return types;
};
const run = (own: WorkerDeps = deps) =>
  protectionApplyWorker.runJob({ applyId, parentId }, own, new AbortController().signal);

describe("a worker that is killed while it applies rules", () => {
  it("leaves some projects without them, and all have them once after it is run again", async () => {
    // Killed around its third append: before it once, after it the next time.
    for (const landed of [false, true]) {
      let appends = 0;
      const append: WorkerDeps["store"]["append"] = async (stream, expected, events) => {
        appends += 1;
        if (appends < 3) return deps.store.append(stream, expected, events);
        if (landed) await deps.store.append(stream, expected, events);
        throw new Error("killed");
      };
      await expect(run({ ...deps, store: { ...deps.store, append } })).to.be.rejectedWith("killed");
      expect(await typesOf(parentId)).not.to.include("ProtectionApplyFinished");
    }
    await run();
    await run();
    for (const id of projectIds) {
      expect(await typesOf(id)).to.deep.equal(["ProtectionRuleCreated", "ProtectionApplied"]);
    }
    const ended = (await typesOf(parentId)).filter((type) => type === "ProtectionApplyFinished");
    expect(ended).to.have.length(1);
  });
});
