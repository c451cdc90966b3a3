import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { currentState } from "../../../src/commands/core/handle.ts";
import { transferProject } from "../../../src/commands/project/change-project.ts";
import { hold } from "../../../src/commands/project/claim-child.ts";
import { createProject } from "../../../src/commands/project/create-project.ts";
import { project } from "../../../src/commands/project/project.ts";
import { deleteAliasHolder } from "../../../src/commands/team/alias-holder.ts";
import { createTeam } from "../../../src/commands/team/change-team.ts";
import { team } from "../../../src/commands/team/team.ts";
import { Alias, ProjectId, TeamId, UserId } from "../../../src/events/core/ids.ts";
import { holdingStream } from "../../../src/events/project/child-claim.ts";
import { Refusal } from "../../../src/platform/refusal.ts";
import { metadataFor } from "../../support/app/history.ts";
import { testEventStore } from "../../support/store/event-store.ts";

const { store } = await testEventStore();
const by = UserId.parse(randomUUID());
let nowMs = Date.parse("2026-01-02T03:04:05.678Z");
const now = () => new Date(nowMs).toISOString();
const deps = { store, now };
const metadata = () => metadataFor(randomUUID());
const name = () => Alias.parse(`a${randomUUID().slice(0, 13)}`);

async function givenTeam(): Promise<TeamId> {
  const teamId = TeamId.parse(randomUUID());
  const details = { title: "Team", description: null, private: true, avatar: null };
  const owner = { ownerId: by, ownerType: "USER" } as const;
  const command = { type: "CreateTeam", teamId, ...owner, alias: name(), details, by } as const;
  await createTeam(deps, { ...command, at: now() }, metadata());
  return teamId;
}

const newProject = (ownerId: string, ownerType: "USER" | "TEAM") =>
  ({
    type: "CreateProject",
    projectId: ProjectId.parse(randomUUID()),
    ownerId,
    ownerType,
    alias: name(),
    title: "Project",
    description: null,
    language: null,
    private: true,
    defaultBranch: "main",
    by,
    at: now(),
  }) as const;
/** As read models would say that are never late. */
async function owns(ownerId: string): Promise<boolean> {
  const owners = new Map<string, unknown>();
  for await (const { type, stream, data } of store.readAll()) {
    if (/^(?:Project|Team)(?:Created|Transferred)$/.test(type)) owners.set(stream, data["ownerId"]);
    if (/^(?:Project|Team)Deleted$/.test(type)) owners.delete(stream);
  }
  return [...owners.values()].includes(ownerId);
}
const remove = (teamId: string, using = store, ownsIt = owns) => {
  const command = { type: "DeleteAliasHolder", by, at: now() } as const;
  const order = { id: teamId, command, metadata: metadata() };
  return deleteAliasHolder({ store: using, now, owns: ownsIt }, team, order);
};
const codeOf = (attempt: Promise<unknown>): Promise<string> =>
  attempt.then(
    () => "done",
    (error: unknown) => (error instanceof Refusal ? error.code : String(error)),
  );

describe("a team that is deleted while something comes in", () => {
  it("either keeps it and stays, or goes and refuses it", async () => {
    const outcomes = new Set<string>();
    for (let round = 0; round < 12; round += 1) {
      const teamId = await givenTeam();
      const command = newProject(teamId, "TEAM");
      const creating = () => codeOf(createProject(deps, command, metadata()));
      const deleting = () => codeOf(remove(teamId));
      const both = round % 2 === 0 ? [creating(), deleting()] : [deleting(), creating()];
      const outcome = (await Promise.all(both)).sort().join();
      outcomes.add(outcome);
      const { status } = await currentState(store, team, teamId);
      const made = await currentState(store, project, command.projectId);
      expect([status, made.status].join(), outcome).to.be.oneOf([
        "active,created",
        "deleted,absent",
      ]);
    }
    for (const outcome of outcomes) {
      expect(outcome).to.be.oneOf(["done,owner.not_empty", "done,owner.not_found"]);
    }
  });

  it("refuses a transfer too, and goes once everything in it has gone", async () => {
    const teamId = await givenTeam();
    const inside = newProject(teamId, "TEAM");
    await createProject(deps, inside, metadata());
    expect(await codeOf(remove(teamId))).to.equal("owner.not_empty");
    const away = { ownerId: by, ownerType: "USER", alias: inside.alias, by, at: now() } as const;
    const change = { id: inside.projectId, metadata: metadata() };
    await transferProject(deps, change, { type: "TransferProject", ...away });
    expect(await codeOf(remove(teamId))).to.equal("done");

    const back = { ...away, ownerId: teamId, ownerType: "TEAM" } as const;
    const again = { id: inside.projectId, metadata: metadata() };
    const transfer = transferProject(deps, again, { type: "TransferProject", ...back });
    expect(await codeOf(transfer)).to.equal("owner.not_found");
    const state = await currentState(store, project, inside.projectId);
    expect(state).to.include({ status: "created", ownerId: by });
  });
});

describe("a team through which much has gone", () => {
  type Moving = ReturnType<typeof newProject>;
  const moved = ({ projectId, alias }: Moving, ownerId: string, ownerType: Moving["ownerType"]) => {
    const to = { ownerId, ownerType, alias, by, at: now() } as const;
    const change = { id: projectId, metadata: metadata() };
    return transferProject(deps, change, { type: "TransferProject", ...to });
  };

  async function givenUsed(count: number): Promise<TeamId> {
    const teamId = await givenTeam();
    for (let n = 0; n < count; n += 1) {
      const inside = newProject(teamId, "TEAM");
      await createProject(deps, inside, metadata());
      await moved(inside, by, "USER");
    }
    return teamId;
  }

  it("is deleted without reading any of it", async () => {
    const teamId = await givenUsed(12);
    nowMs += 61_000;
    const read: string[] = [];
    let back = 0;
    const counting: typeof store = {
      ...store,
      readStream: (stream, from) => {
        read.push(stream);
        return store.readStream(stream, from);
      },
      async *readStreamBackwards(stream, countMax) {
        for await (const event of store.readStreamBackwards(stream, countMax)) {
          back += 1;
          yield event;
        }
      },
    };
    expect(await codeOf(remove(teamId, counting))).to.equal("done");
    expect(read.filter((stream) => /^(?:project|holding)-/.test(stream))).to.deep.equal([]);
    expect(back).to.be.at.most(2);
  });

  it("is not deleted while something of long ago is still, or again, in it", async () => {
    const teamId = await givenUsed(2);
    const stayed = newProject(teamId, "TEAM");
    await createProject(deps, stayed, metadata());
    nowMs += 61_000;
    expect(await codeOf(remove(teamId))).to.equal("owner.not_empty");
    await moved(stayed, by, "USER");
    await moved(stayed, teamId, "TEAM");
    expect(await codeOf(remove(teamId))).to.equal("owner.not_empty");
    await moved(stayed, by, "USER");
    expect(await codeOf(remove(teamId))).to.equal("done");
  });

  it("is not deleted when something comes in after everything was checked", async () => {
    const teamId = await givenUsed(1);
    const late: typeof owns = async (ownerId) => {
      const answer = await owns(ownerId);
      await createProject(deps, newProject(teamId, "TEAM"), metadata());
      return answer;
    };
    const removing = remove(teamId, store, late);
    expect(await codeOf(removing)).to.equal("owner.not_empty");
  });
});

describe("what comes to a user", () => {
  it("is held by nobody: a user is never deleted", async () => {
    const own = { ...newProject(by, "USER"), alias: name() };
    await createProject(deps, own, metadata());
    const held: unknown[] = [];
    for await (const event of store.readStream(holdingStream(by))) held.push(event);
    expect(held).to.deep.equal([]);
  });
});

describe("a process that died on the way", () => {
  it("keeps a team for a minute when it was to bring something in", async () => {
    const teamId = await givenTeam();
    const wanted = { heldId: randomUUID(), heldType: "PROJECT" } as const;
    await hold(deps, { ownerId: teamId, ownerType: "TEAM" }, wanted, metadata());
    expect(await codeOf(remove(teamId))).to.equal("owner.not_empty");
    nowMs += 61_000;
    expect(await codeOf(remove(teamId))).to.equal("done");
  });

  it("leaves a team closed for a minute when it was to delete it", async () => {
    const teamId = await givenTeam();
    const { append } = store;
    const dying = { ...store };
    dying.append = (stream, expected, events) =>
      stream === `team-${teamId}`
        ? Promise.reject(new Error("killed"))
        : append(stream, expected, events);
    await expect(remove(teamId, dying)).to.be.rejectedWith("killed");
    const create = () => codeOf(createProject(deps, newProject(teamId, "TEAM"), metadata()));
    expect(await create()).to.equal("owner.not_found");
    nowMs += 61_000;
    expect(await create()).to.equal("done");
    expect(await codeOf(remove(teamId))).to.equal("owner.not_empty");
  });
});
