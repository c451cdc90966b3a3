import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import { startUpdate, updateRefs } from "../../src/git/ref-update.ts";
import { openGit } from "../../src/git/repositories.ts";
import type { Repository } from "../../src/git/repository.ts";
import { runGit } from "../../src/git/run.ts";
import { makeServiceRef, ServiceRefMoved, setServiceRef } from "../../src/git/service-ref.ts";
import { eventually } from "../support/app/eventually.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../support/git/git.ts";
import { processes } from "../support/process/process.ts";

const dataDir = await temporaryDirectory();
const repositories = openGit({ dataDir, log: { warn: () => undefined } });
after(() => repositories.close());

const main = "refs/heads/main";
const kept = "refs/merge-requests/7/merge";
let repository: Repository;
let first: string;
let second: string;

before(async () => {
  const copy = await workingCopy(dataDir, "copy");
  first = await commit(copy, "First");
  second = await commit(copy, "Second");
});
beforeEach(async () => {
  repository = await repositories.ensure(randomUUID(), "main");
  await git(`${dataDir}/copy`, "push", "--quiet", repository.gitDir, "main:refs/heads/all");
  await git(repository.gitDir, "update-ref", main, first);
});

const at = async (ref: string) =>
  git(repository.gitDir, "for-each-ref", "--format=%(objectname)", ref);
const running = async () =>
  (await processes()).filter(({ command }) => command.includes(repository.gitDir));

describe("changing refs by git that was started before", () => {
  it("moves them as one, with refs of the service's own", async () => {
    const started = startUpdate(repository);
    const updates = [{ ref: main, before: first, after: second }];
    const keeping = { kept: [{ ref: kept, id: second }], started };
    expect(await updateRefs(repository, updates, keeping)).to.equal(true);
    expect([await at(main), await at(kept)]).to.deep.equal([second, second]);
  });

  it("moves none of them when a branch is not where it was", async () => {
    const updates = [{ ref: main, before: second, after: first }];
    const keeping = { kept: [{ ref: kept, id: second }], started: startUpdate(repository) };
    expect(await updateRefs(repository, updates, keeping)).to.equal(false);
    expect([await at(main), await at(kept)]).to.deep.equal([first, ""]);
  });

  it("takes no other ref for one of the service's own", async () => {
    const started = startUpdate(repository);
    await eventually(async () => (await running()).length > 0);
    const keeping = { kept: [{ ref: "refs/heads/other", id: second }], started };
    const error = await updateRefs(repository, [], keeping).catch((thrown: unknown) => thrown);
    expect(error).to.be.an("error");
    await eventually(async () => (await running()).length === 0);
    expect(await at("refs/heads/other")).to.equal("");
  });

  it("fails where a first ref points to no object", async () => {
    const missing = "0123456789".repeat(4);
    await expect(makeServiceRef(repository, kept, missing)).to.be.rejectedWith();
    expect(await at(kept)).to.equal("");
  });

  it("may wait for its transaction longer than the transaction may take", async () => {
    const timeoutMs = 2_000;
    const input = delay(timeoutMs + 200, `update ${main} ${second}\n`);
    const options = { input, timeoutMs, writes: true, holds: "pushing" } as const;
    await runGit(repository.gitDir, ["update-ref", "--stdin"], options);
    expect(await at(main)).to.equal(second);
  });

  it("ends without a change when it is dropped", async () => {
    const started = startUpdate(repository);
    await eventually(async () => (await running()).length > 0);
    started.drop();
    await eventually(async () => (await running()).length === 0);
    expect(await at(main)).to.equal(first);
  });
});

describe("a ref of the service's own", () => {
  it("is made where there is none, and else left where it is", async () => {
    await makeServiceRef(repository, kept, second);
    await makeServiceRef(repository, kept, first);
    expect(await at(kept)).to.equal(second);
  });

  it("is moved from the expected commit only", async () => {
    await setServiceRef(repository, kept, first, null);
    const moving = await setServiceRef(repository, kept, second, null).catch(
      (thrown: unknown) => thrown,
    );
    expect(moving).to.be.instanceOf(ServiceRefMoved);
    await setServiceRef(repository, kept, second, first);
    expect(await at(kept)).to.equal(second);
  });

  it("is none of the refs of a push, and points to an object", async () => {
    for (const [ref, id] of [
      [main, second],
      ["refs/merge-requests/07/merge", second],
      [`${kept}\nupdate ${main}`, second],
      [kept, `${second}\nupdate ${main} ${second}`],
    ] as const) {
      await expect(setServiceRef(repository, ref, id)).to.be.rejectedWith(
        "is no ref of the service",
      );
    }
    expect([await at(main), await at(kept)]).to.deep.equal([first, ""]);
  });
});
