import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import { repositoryStream } from "../../../src/events/repository/repository.ts";
import { runGit } from "../../../src/git/run.ts";
import { RevisionConflict } from "../../../src/platform/event-store/event-store.ts";
import { keyedLock } from "../../../src/platform/keyed-lock.ts";
import type { Push } from "../../../src/services/git/push-intent.ts";
import { refRecorder } from "../../../src/services/git/ref-recorder.ts";
import { secretKey } from "../../support/app/app.ts";
import { startGitApp, type TestProject, type TestUser } from "../../support/app/git-app.ts";
import { metadataFor } from "../../support/app/history.ts";
import { bundledArgs } from "../../support/compiled.ts";
import { commit, git, temporaryDirectory, tryGit, workingCopy } from "../../support/git/git.ts";

const app = await startGitApp();
const parent = await temporaryDirectory();
let anna: TestUser;
let project: TestProject;
let copy: string;
let first: string;
let second: string;
let gitDir: string;
let count = 0;

before(async () => {
  anna = await app.user("anna");
});

beforeEach(async () => {
  count += 1;
  project = await app.project(anna, `project-${count}`);
  ({ gitDir } = await app.git.ensure(project.id, "main"));
  copy = await workingCopy(parent, `copy-${count}`);
  first = await commit(copy, "First");
  second = await commit(copy, "Second");
  await git(copy, "push", "--quiet", app.remote(project, anna), `${first}:refs/heads/main`);
});

/** `BranchUpdated by anna` … in the order of the log. */
async function recordedChanges(): Promise<readonly string[]> {
  const changes: string[] = [];
  for await (const { type, data, metadata } of app.store.readStream(repositoryStream(project.id))) {
    changes.push(
      `${type} ${data["branch"] ?? data["tag"]} by ${metadata.actor.alias ?? "the system"}`,
    );
  }
  return changes;
}

const intents = () => app.db("push_intent").where({ project_id: project.id });

/** Pushes to a service that dies on the way; answers once it is dead. */
async function pushToDying(when: "before" | "after", refspec: string): Promise<void> {
  const child = spawn(
    process.execPath,
    [
      ...[...bundledArgs("test/support/process/dying-service.ts"), when],
      ...[app.databaseUrl, app.eventStoreUrl, app.dataDir, secretKey],
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const ended = once(child, "close");
  const remote = app.remote(project, anna).replace(/@[^/]+/, `@${line.toString().trim().slice(7)}`);
  const { exitCode } = await tryGit(copy, ["push", remote, refspec]);
  const [, signal] = (await ended) as [number | null, string | null];
  expect(exitCode).not.to.equal(0);
  expect(signal).to.equal("SIGKILL");
}

describe("a push whose recording failed", () => {
  beforeEach(() => pushToDying("before", `${second}:refs/heads/main`));

  for (const [action, args] of [
    ["a repeated push", ["push", "--porcelain"]],
    ["a list of the refs", ["ls-remote"]],
  ] as const) {
    it(`is recorded and shown when ${action} is answered`, async () => {
      const refspec = args[0] === "push" ? [`${second}:refs/heads/main`] : [];
      const { stdout } = await tryGit(copy, [...args, app.remote(project, anna), ...refspec]);
      expect(stdout).to.match(/\[up to date\]|refs\/heads\/main/);
      const shown = await app.db("git_ref").where({ project_id: project.id, name: "main" }).first();
      expect(shown).to.include({ object_id: second });
      expect((await recordedChanges()).at(-1)).to.equal("BranchUpdated main by anna");
    });
  }
});

describe("a process that dies between the change of a ref and its event", () => {
  it("leaves a push that is recorded later, once, as its pusher's", async () => {
    await pushToDying("before", `${second}:refs/heads/main`);
    expect(await git(gitDir, "rev-parse", "refs/heads/main")).to.equal(second);
    expect(await recordedChanges()).to.deep.equal(["BranchCreated main by anna"]);

    await app.refs.heal(new Date());
    await app.refs.heal(new Date());

    expect(await recordedChanges()).to.deep.equal([
      "BranchCreated main by anna",
      "BranchUpdated main by anna",
    ]);
    expect(await intents()).to.deep.equal([]);
  });

  it("is made good by the next push to the project, whatever that changes", async () => {
    await pushToDying("before", `${second}:refs/heads/dev`);
    await git(copy, "push", "--quiet", app.remote(project, anna), `${second}:refs/heads/other`);

    expect([...(await recordedChanges())].sort()).to.deep.equal([
      "BranchCreated dev by anna",
      "BranchCreated main by anna",
      "BranchCreated other by anna",
    ]);
  });

  it("records it once when it died after the append, even if the ref goes back and forth", async () => {
    await pushToDying("after", `${second}:refs/heads/main`);
    expect(await intents()).to.have.length(1);
    await git(copy, "push", "--quiet", "-f", app.remote(project, anna), `${first}:refs/heads/main`);
    await app.refs.heal(new Date());

    expect(await recordedChanges()).to.deep.equal([
      "BranchCreated main by anna",
      "BranchUpdated main by anna",
      "BranchUpdated main by anna",
    ]);
    expect(await intents()).to.deep.equal([]);
  });
});

describe("the recorder of refs", () => {
  it("names the system for refs that were changed from outside", async () => {
    await runGit(gitDir, ["update-ref", "refs/tags/outside", first]);
    await app.refs.reconcile(project.id);
    await app.refs.reconcile(project.id);

    expect(await recordedChanges()).to.deep.equal([
      "BranchCreated main by anna",
      "TagCreated outside by the system",
    ]);
  });

  it("forgets a push that never changed anything, a day later", async () => {
    await app.refs.begin(push("refs/heads/never", null, first));
    await app.refs.heal(new Date());
    expect(await intents()).to.have.length(1);

    await app.refs.heal(new Date(Date.now() + 25 * 60 * 60_000));
    expect(await intents()).to.deep.equal([]);
    expect(await recordedChanges()).to.have.length(1);
  });

  it("records a push once although two processes account for it at the same moment", async () => {
    const intent = push("refs/heads/main", first, second);
    await app.refs.begin(intent);
    await git(copy, "push", "--quiet", gitDir, `${second}:refs/heads/main`);
    const others = Array.from({ length: 4 }, () => refRecorder(app, keyedLock()));
    await Promise.all([
      app.refs.finish(intent, new Set(["refs/heads/main"])),
      ...others.map((other) => other.reconcile(project.id)),
    ]);

    expect(await recordedChanges()).to.deep.equal([
      "BranchCreated main by anna",
      "BranchUpdated main by the system",
    ]);
  });

  it("computes anew when another process appended in between", async () => {
    let conflicts = 2;
    const contended = refRecorder({
      ...app,
      store: {
        ...app.store,
        append: async (...args) => {
          if (conflicts === 0) return app.store.append(...args);
          conflicts -= 1;
          throw new RevisionConflict();
        },
      },
    });
    await runGit(gitDir, ["update-ref", "refs/heads/other", first]);
    await contended.reconcile(project.id);

    expect(conflicts).to.equal(0);
    expect(await recordedChanges()).to.have.length(2);
  });

  it("reads no more of the stream than the read model has not seen", async () => {
    const read: (bigint | undefined)[] = [];
    const watched = refRecorder({
      ...app,
      store: {
        ...app.store,
        readStream: (stream, from) => {
          read.push(from);
          return app.store.readStream(stream, from);
        },
      },
    });
    await watched.reconcile(project.id);

    expect(read).to.deep.equal([1n]);
  });

  it("keeps nothing of what git refused, beside what it did", async () => {
    const made = push("refs/tags/v1", null, first);
    const refs = [...made.refs, { ref: "refs/tags/v2", before: second, after: first }];
    const intent = { ...made, refs };
    await app.refs.begin(intent);
    expect(await intents()).to.have.length(2);
    await git(gitDir, "update-ref", "refs/tags/v1", first);

    await app.refs.finish(intent, new Set(["refs/tags/v1"]));

    expect(await intents()).to.deep.equal([]);
    expect((await recordedChanges()).map((text) => text.split(" by ")[0])).to.deep.equal([
      ...["BranchCreated main", "TagCreated v1"],
    ]);
  });

  it("records what came while the read model stands still", async () => {
    const behind = { project_id: project.id };
    await app.db("git_ref").where(behind).delete();
    await app.db("git_repository").where(behind).delete();
    const intent = push("refs/tags/v1", null, first);
    await app.refs.begin(intent);
    await git(gitDir, "update-ref", "refs/tags/v1", first);

    const position = await app.refs.finish(intent, new Set(["refs/tags/v1"]));

    expect(position).to.be.a("bigint");
    expect((await recordedChanges()).map((text) => text.split(" by ")[0])).to.deep.equal([
      ...["BranchCreated main", "TagCreated v1"],
    ]);
    expect(await intents()).to.deep.equal([]);
  });

  it("does nothing for a project without a repository", async () => {
    expect(await app.refs.reconcile(randomUUID())).to.equal(undefined);
  });
});

describe("a push whose new refs are synced together", () => {
  const many = (...names: readonly string[]): Push => ({
    ...push("", null, first),
    refs: names.map((ref) => ({ ref, before: null, after: first })),
    together: true,
  });
  const make = (ref: string) => git(gitDir, "update-ref", ref, first);

  /** A recorder that notes what the log records whenever the disk is written. */
  function syncing() {
    const recordedAtSync: number[] = [];
    const sync = async (): Promise<void> =>
      void recordedAtSync.push((await recordedChanges()).length);
    return { recorder: refRecorder({ ...app, git: { ...app.git, sync } }), recordedAtSync };
  }

  it("is recorded when they are on the disk", async () => {
    const { recorder, recordedAtSync } = syncing();
    const intent = many("refs/tags/v1");
    await recorder.begin(intent);
    await make("refs/tags/v1");
    await recorder.finish(intent, new Set(["refs/tags/v1"]));
    expect(recordedAtSync).to.deep.equal([1]);
    expect(await recordedChanges()).to.have.length(2);
  });

  it("is not recorded when they could not be written", async () => {
    const sync = () => Promise.reject(new Error("disk"));
    const failing = refRecorder({ ...app, git: { ...app.git, sync } });
    const intent = many("refs/tags/v1");
    await failing.begin(intent);
    await make("refs/tags/v1");
    await expect(failing.finish(intent, new Set(["refs/tags/v1"]))).to.be.rejectedWith("disk");
    await expect(failing.reconcile(project.id)).to.be.rejectedWith("disk");
    expect(await recordedChanges()).to.have.length(1);
    expect(await intents()).to.have.length(1);
  });

  it("is not recorded by another process before they are", async () => {
    const { recorder, recordedAtSync } = syncing();
    await recorder.begin(many("refs/tags/v1"));
    await make("refs/tags/v1");
    await recorder.reconcile(project.id);
    expect(recordedAtSync).to.deep.equal([1]);
    expect(await recordedChanges()).to.have.length(2);
  });

  it("is the only kind that has the disk written", async () => {
    const { recorder, recordedAtSync } = syncing();
    const intent = push("refs/tags/v1", null, first);
    await recorder.begin(intent);
    await make("refs/tags/v1");
    await recorder.reconcile(project.id);
    await recorder.finish(intent, new Set(["refs/tags/v1"]));
    expect(recordedAtSync).to.deep.equal([]);
  });

  it("is made good after a power cut: what is whole is recorded, the rest may come again", async () => {
    const names = ["refs/tags/whole", "refs/tags/empty", "refs/tags/never"];
    await app.refs.begin(many(...names));
    await make("refs/tags/whole");
    await writeFile(path.join(gitDir, "refs/tags/empty"), "");
    await writeFile(path.join(gitDir, "refs/tags/of-others"), "");

    await app.refs.heal(new Date());

    expect((await recordedChanges()).map((text) => text.split(" by ")[0])).to.deep.equal([
      ...["BranchCreated main", "TagCreated whole"],
    ]);
    await rm(path.join(gitDir, "refs/tags/of-others"));
    const refspecs = names.slice(1).map((ref) => `${first}:${ref}`);
    await git(copy, "push", "--quiet", app.remote(project, anna), ...refspecs);
    expect(await recordedChanges()).to.have.length(4);
  });

  it("loses no ref that moved on before the power was cut", async () => {
    const intent = many("refs/heads/new");
    await app.refs.begin(intent);
    await make("refs/heads/new");
    await git(copy, "push", "--quiet", app.remote(project, anna), `${second}:refs/heads/new`);
    await app.refs.heal(new Date());
    expect(await git(gitDir, "rev-parse", "refs/heads/new")).to.equal(second);
  });
});

function push(ref: string, before: string | null, after: string | null): Push {
  const pushId = randomUUID();
  const metadata = metadataFor(pushId);
  return { pushId, projectId: project.id, metadata, refs: [{ ref, before, after }] };
}
