import { randomUUID } from "node:crypto";
import { expect } from "chai";

import type { Recorded } from "../../../src/events/core/event.ts";
import { mergeRequestStream } from "../../../src/events/merge-request/merge-request.ts";
import { deterministicId } from "../../../src/platform/deterministic-id.ts";
import type { EventStore } from "../../../src/platform/event-store/event-store.ts";
import { Refusal } from "../../../src/platform/refusal.ts";
import { findMergeRequest } from "../../../src/projections/merge-request/merge-request-query.ts";
import { findProjectById } from "../../../src/projections/project/project.ts";
import { keepIntent } from "../../../src/services/git/push-intent.ts";
import { type MergeDeps, merge } from "../../../src/services/merge-request/merge.ts";
import { startTestApp, type TestUser } from "../../support/app/app.ts";
import { metadataFor } from "../../support/app/history.ts";
import { git } from "../../support/git/git.ts";
import { type Json, type MergeWorld, mergeWorlds } from "../../support/git/merge-world.ts";

const app = await startTestApp();
const { people, world: newWorld } = await mergeWorlds(app);
const { anna, bob, carl } = people;
const begun = "MergeRequestMergeBegun";

let world: MergeWorld;
beforeEach(async () => {
  world = await newWorld();
  await world.open();
});

const rowOf = async () => (await findMergeRequest(app.deps.db, world.project.id, 1))!;

/** The same command each time, in the name of bob. */
async function command(
  id = randomUUID() as string,
): Promise<(deps?: MergeDeps) => Promise<string>> {
  const metadata = metadataFor(id, {
    actor: { userId: bob.id, alias: "bob", via: "token", tokenId: null },
  });
  const project = (await findProjectById(app.deps.db, world.project.id))!;
  const messages = { mergeCommitMessage: null, squashCommitMessage: null };
  const choice = { strategy: "MERGE_COMMIT", removeSourceBranch: false, ...messages } as const;
  const { id: mergeRequestId } = await rowOf();
  const order = { mergeRequestId, project, role: "DEVELOPER", userId: bob.id, choice } as const;
  return (deps = app.deps) =>
    merge(deps, { ...order, metadata }).then(
      () => "merged",
      (error: unknown) => (error instanceof Refusal ? error.code : String(error)),
    );
}

type Appending = EventStore["append"];

/** The service at another time, whose appends of the beginning of a merge pass through `around`. */
function service(
  laterMs: number,
  around: (go: () => ReturnType<Appending>) => ReturnType<Appending>,
) {
  const append: Appending = (stream, revision, events) => {
    const go = () => app.deps.store.append(stream, revision, events);
    return events[0]?.type === begun ? around(go) : go();
  };
  const now = () => new Date(Date.now() + laterMs);
  return { ...app.deps, now, store: { ...app.deps.store, append } };
}

function gate(): Readonly<{ open: () => void; opened: Promise<void> }> {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

const later = (ms: number) => service(ms, (go) => go());

const dying = service(0, async (go) => {
  await go();
  throw new Error("killed");
});

async function recorded(): Promise<readonly Recorded[]> {
  const all: Recorded[] = [];
  const { id } = await rowOf();
  for await (const event of app.deps.store.readStream(mergeRequestStream(id))) all.push(event);
  return all.filter(({ type }) => type.startsWith("MergeRequestMerge"));
}

/** What the log says was merged is what the branch and the ref of the merge point to. */
async function expectTruth(): Promise<void> {
  const last = (await recorded()).at(-1)!;
  expect(last.type).to.equal("MergeRequestMerged");
  const refs = ["refs/heads/main", "refs/merge-requests/1/merge"];
  const heads = await git(world.gitDir, "rev-parse", ...refs);
  const commit = last.data["mergeCommit"];
  expect(heads.split("\n")).to.deep.equal([commit, commit]);
}

describe("a merge that is requested again with the same command", () => {
  it("is made as another one on the target of now, once what was begun is over", async () => {
    const requested = await command();
    expect(await requested(dying)).to.equal("Error: killed");
    expect(await requested(later(1_000))).to.equal("merge.unavailable");
    await world.push("main", { "later.txt": "l\n" });
    expect(await requested(later(30_000))).to.equal("merged");
    await expectTruth();
    expect(await requested()).to.equal("merged");
    expect((await recorded()).map(({ type }) => type)).to.deep.equal([
      begun,
      begun,
      "MergeRequestMerged",
    ]);
  });

  it("is begun by one of two workers that read the request at the same revision", async () => {
    const requested = await command();
    const [bothDecided, oneWrote, otherIsOver] = [gate(), gate(), gate()];
    const one = requested(
      service(0, async (go) => {
        await bothDecided.opened;
        const written = await go();
        oneWrote.open();
        await otherIsOver.opened;
        return written;
      }),
    );
    const other = service(1_000, async (go) => {
      bothDecided.open();
      await oneWrote.opened;
      return go();
    });
    expect(await requested(other)).to.equal("merge.unavailable");
    otherIsOver.open();
    expect(await one).to.equal("merged");
    expect((await recorded()).map(({ type }) => type)).to.deep.equal([begun, "MergeRequestMerged"]);
    await expectTruth();
  });

  it("is refused as one that is over when another process merged it meanwhile", async () => {
    const [winner, loser] = [await command(), await command()];
    let outcome: string | undefined;
    const readStream: EventStore["readStream"] = async function* (stream, ...rest) {
      yield* app.deps.store.readStream(stream, ...rest);
      // It has read an open request; what it compares now is the branch with the merge.
      outcome ??= await winner();
    };
    const slow = { ...app.deps, store: { ...app.deps.store, readStream } };
    expect(await loser(slow)).to.equal("merge_request.final");
    expect(outcome).to.equal("merged");
    await expectTruth();
  });

  it("is not abandoned while its change of the branch may still be made", async () => {
    const id = randomUUID();
    const requested = await command(id);
    const mergeId = deterministicId(id, "merge", 0);
    const change = { ref: "refs/heads/main", before: null, after: null };
    const metadata = metadataFor(mergeId);
    const announced = service(0, async (go) => {
      const push = { pushId: mergeId, projectId: world.project.id, metadata, refs: [change] };
      await keepIntent(app.deps.db, push);
      return go();
    });
    expect(await requested(announced)).to.equal("idempotency.in_progress");
    expect((await recorded()).map(({ type }) => type)).to.deep.equal([begun]);
  });
});

describe("a merge whose requirements are withdrawn while it is made", () => {
  const approve = () => world.post(carl, "/merge-request/1/approve");
  const edit = (body: Json) => world.put(anna, "/merge-request/1", body);
  const rule = (...approvers: readonly TestUser[]) => ({
    ...{ targetBranch: "main", name: "R", minimalApprovals: 1 },
    allowedApproversUuid: approvers.map(({ id }) => id),
  });
  const demand = (...approvers: readonly TestUser[]) =>
    world.post(anna, "/merge-request/approval/rule/create", rule(...approvers));
  const setRole = ({ alias: userAlias }: TestUser, role: string) =>
    world.put(anna, "/member/role", { userAlias, role });
  const configure = (body: Json) => {
    const at = world.at("/merge-request/approval/configuration/edit");
    return app.send("PATCH", at, { token: anna.token, body });
  };
  const ban = async () => {
    const root = await app.givenUser("root", { admin: true });
    return app.post(`/admin/user/${carl.id}/account/ban`, { token: root.token });
  };

  /** One that carl approved, with something that happens once it is judged and made, before the branch moves. */
  async function mergedWhile(happens: () => Promise<{ status: number; text: string }>) {
    // Without anna nobody could meet the rule once carl is gone, and it would stand in nobody's way.
    await demand(carl, anna);
    expect((await approve()).status).to.equal(200);
    const requested = await command();
    let ensures = 0;
    const ensure: MergeDeps["git"]["ensure"] = async (...args) => {
      ensures += 1;
      // The first is of the preparation, the second of the change of the branch.
      if (ensures === 2) {
        const { status, text } = await happens();
        expect(status, text).to.equal(200);
      }
      return app.deps.git.ensure(...args);
    };
    const answer = await requested({ ...app.deps, git: { ...app.deps.git, ensure } });
    expect(ensures).to.be.at.least(2);
    return answer;
  }

  it("is made when what changed does not stand against it", async () => {
    expect(await mergedWhile(() => edit({ title: "Better" }))).to.equal("merged");
    await expectTruth();
  });

  for (const [what, happens, code = "merge.requirements"] of [
    ["the approval is withdrawn", approve],
    ["it becomes a draft", () => edit({ workInProgress: true })],
    ["its title says that it is a draft", () => edit({ title: "Draft: Feature" })],
    ["the merger is demoted", () => setRole(bob, "GUEST"), "auth.role_missing"],
    ["the approver loses the project", () => world.delete(anna, "/member/carl")],
    ["another rule is made", () => demand(anna)],
    ["a pipeline is demanded", () => configure({ checkCiCdStatus: true })],
    ["a status fails", fail],
    // The last: carl stays banned.
    ["the approver is banned", ban],
  ] as const) {
    it(`is not made when ${what}`, async () => {
      const before = await git(world.gitDir, "rev-parse", "refs/heads/main");
      expect(await mergedWhile(happens)).to.equal(code);
      expect(await git(world.gitDir, "rev-parse", "refs/heads/main")).to.equal(before);
      expect((await rowOf()).status).to.equal("OPENED");
      expect(await recorded()).to.deep.equal([]);
    });
  }

  async function fail() {
    const { source_commit } = await rowOf();
    return world.post(bob, `/commit/${source_commit}/status`, { name: "ci", status: "FAILED" });
  }
});
