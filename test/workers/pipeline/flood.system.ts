import { expect } from "chai";
import { pipelinesOf } from "../../support/agent/pipeline-app.ts";
import { startTestApp, type TestUser } from "../../support/app/app.ts";
import { eventually } from "../../support/app/eventually.ts";
import { git, temporaryDirectory } from "../../support/git/git.ts";

const app = await startTestApp({ workers: true });

async function givenPipelines(user: TestUser, alias: string, file: string) {
  const project = await app.givenProject(user, alias);
  const ci = pipelinesOf(app, user, project);
  await ci.commit({ ".forge-ci.yaml": file }, "Add [skip ci]");
  return ci;
}

/** New branches, with a commit of their own that does not skip the pipelines. */
async function pushBranches(user: TestUser, alias: string, count: number): Promise<void> {
  const copy = await temporaryDirectory();
  const url = new URL(`/project/${user.alias}/${alias}.git`, app.url);
  Object.assign(url, { username: user.alias, password: user.token });
  await git(copy, "clone", "--quiet", url.href, ".");
  await git(copy, "commit", "--quiet", "--allow-empty", "--message=Begin");
  const branches = Array.from({ length: count }, (_, n) => `HEAD:refs/heads/branch-${n}`);
  await git(copy, "push", "--quiet", "origin", ...branches);
}

describe("pushes of a user whose pipeline files take long to compile", () => {
  it("delay those of another user by a few files, and lose none", async () => {
    const anna = await app.givenUser("anna");
    const bob = await app.givenUser("bob");
    const slow = Array.from({ length: 2_000 }, (_, n) => `.j${n}: {script: x}`).join("\n");
    const ofAnna = await givenPipelines(anna, "search", `${slow}\na: {script: x}`);
    const ofBob = await givenPipelines(bob, "docs", "a: {script: x}");
    await pushBranches(anna, "search", 40);
    await pushBranches(bob, "docs", 1);
    await eventually(async () => expect(await ofBob.pipelines()).to.have.length(1), 60_000);
    const started = async () => (await ofAnna.pipelines("?size=100")).length;
    expect(await started()).to.be.below(30);
    await eventually(async () => expect(await started()).to.equal(40), 120_000);
  });

  it("wait for one another, so that none has to be tried again", async () => {
    const eve = await app.givenUser("eve");
    const ci = await givenPipelines(eve, "tools", "a: {script: x}");
    await pushBranches(eve, "tools", 100);
    const found = () => ci.pipelines("?size=200");
    await eventually(async () => expect(await found()).to.have.length(100), 120_000);
    const queue = app.deps.queues.queue("pipeline-create");
    await eventually(async () => (await queue.getActiveCount()) === 0, 60_000);
    const attempts = (await queue.getCompleted(0, 1_000)).map(({ attemptsMade }) => attemptsMade);
    expect(attempts.length).to.be.at.least(100);
    expect(Math.max(...attempts)).to.equal(1);
    const inOrder = (await found()).map(
      ({ localId, ref }) => [Number(localId), String(ref)] as const,
    );
    const refs = inOrder.sort(([a], [b]) => a - b).map(([, ref]) => ref);
    expect(refs).to.deep.equal([...refs].sort());
  });
});
