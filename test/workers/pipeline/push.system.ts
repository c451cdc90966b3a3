import { expect } from "chai";

import type { Recorded } from "../../../src/events/core/event.ts";
import { pipelinePush } from "../../../src/workers/pipeline/push.ts";
import {
  createPipelines,
  createPipelinesAtOnce,
  pipelinesOf,
} from "../../support/agent/pipeline-app.ts";
import { startTestApp } from "../../support/app/app.ts";
import { git, temporaryDirectory } from "../../support/git/git.ts";

// Without workers: the tests do their work themselves.
const app = await startTestApp();
const anna = await app.givenUser("anna");
const search = await app.givenProject(anna, "search");
const at = pipelinesOf(app, anna, search);
const { store } = app.deps;

/** Pushes new branches in one go. @returns what the workers receive of it */
async function push(...names: readonly string[]): Promise<readonly Recorded[]> {
  const copy = await temporaryDirectory();
  const url = new URL("/project/anna/search.git", app.url);
  Object.assign(url, { username: "anna", password: anna.token });
  await git(copy, "clone", "--quiet", url.href, ".");
  const branches = names.map((name) => `HEAD:refs/heads/${name}`);
  const head = await store.head();
  await git(copy, "push", "--quiet", "origin", ...branches);
  const events: Recorded[] = [];
  for await (const event of store.readAll(head === undefined ? {} : { after: head })) {
    if (pipelinePush.types.has(event.type)) events.push(event);
  }
  return events;
}

/** Pushes so many new branches in one go, and does what the workers do next. */
async function pushed(prefix: string, count: number): Promise<readonly Recorded[]> {
  const events = await push(...Array.from({ length: count }, (_, n) => `${prefix}-${n}`));
  await createPipelines(app, events);
  return events;
}

describe("a push of many branches", () => {
  before(async () => {
    await at.commit({ ".forge-ci.yaml": "a: {script: x}" });
  });

  it("starts a pipeline for each of a few", async () => {
    expect(await pushed("few", 3)).to.have.length(3);
    const refs = (await at.pipelines()).map(({ ref }) => ref);
    expect(refs).to.have.members(["few-0", "few-1", "few-2"]);
  });

  it("numbers their pipelines in the order of its refs, whichever are created first", async () => {
    // The program git sends them by name.
    const events = await push("a", "b", "c", "d", "e", "f");
    await createPipelinesAtOnce(app, events);
    const numbered = (await at.pipelines("?size=6")).map((each) => [each["localId"], each["ref"]]);
    const inOrder = numbered.sort(([one], [other]) => Number(one) - Number(other));
    expect(inOrder.map(([, ref]) => ref)).to.deep.equal(["a", "b", "c", "d", "e", "f"]);
    const first = Number(inOrder[0]?.[0]);
    expect(inOrder.map(([localId]) => Number(localId) - first)).to.deep.equal([0, 1, 2, 3, 4, 5]);
  });

  it("starts none for 200 at once, and takes all of them", async () => {
    const before = await at.pipelines("?size=200");
    expect(await pushed("many", 200)).to.have.length(200);
    expect(await at.pipelines("?size=200")).to.deep.equal(before);
  });
});

describe("a push of a file that is too large", () => {
  const large = `a: {script: x}\n${"#".repeat(1_100_000)}\n`;
  const larger = "The file is larger than 524288 bytes.";
  const reasonOf = async (): Promise<unknown> => {
    await pushed(`large-${(await at.pipelines()).length}`, 1);
    return (await at.pipelines())[0]?.["failureReason"];
  };

  it("makes a failed pipeline that states it", async () => {
    await at.commit({ ".forge-ci.yaml": large });
    expect(await reasonOf()).to.equal(`.forge-ci.yaml:1:1: ${larger}`);
  });

  it("makes one for a file that it includes as well", async () => {
    await at.commit({ ".forge-ci.yaml": "include: large.yml\n", "large.yml": large });
    expect(await reasonOf()).to.equal(`large.yml:1:1: ${larger}`);
  });
});

describe("a fork", () => {
  it("starts no pipelines of the branches and tags that it begins with", async () => {
    const parent = pipelinesOf(app, anna, await app.givenProject(anna, "parent"));
    await parent.commit({ ".forge-ci.yaml": "a: {script: x}" });
    const body = { alias: "a-fork" };
    const forked = await app.post(`${parent.base}/fork`, { token: anna.token, body });
    expect(forked.status, forked.text).to.equal(200);
    const events: Recorded[] = [];
    for await (const event of store.readStream(`repository-${forked.body["id"]}`)) {
      if (pipelinePush.types.has(event.type)) events.push(event);
    }
    expect(events).not.to.be.empty;
    await createPipelines(app, events);
    const pipelines = await app.get("/project/anna/a-fork/cicd/pipeline", { token: anna.token });
    expect((pipelines.body["page"] as { totalElements: number }).totalElements).to.equal(0);
  });
});
