import { expect } from "chai";

import { heldPerAgentMax, waitingFor } from "../../../src/http/agent/queue.ts";
import type { QueuedJob, QueueFilter } from "../../../src/projections/pipeline/queue.ts";
import type { FoundJobs } from "../../../src/workers/pipeline/claim.ts";
import { eventually } from "../../support/app/eventually.ts";

const filter: QueueFilter = { tags: [], runUntagged: true, except: [], limit: 5 };

function given() {
  let changed: (subject?: string) => void = () => undefined;
  const answers: ((jobs: readonly QueuedJob[]) => void)[] = [];
  const waiting = waitingFor((listener) => {
    changed = listener as typeof changed;
    return () => undefined;
  });
  const find = (kind: string, change: Partial<QueueFilter> = {}) =>
    waiting.find(kind, { ...filter, ...change }, () => new Promise((found) => answers.push(found)));
  const queue = () => changed("jobs");
  return { find, answers, queue, change: () => changed("access"), taken: waiting.noteTaken };
}

const queuedJob = (id: string) => ({ job: { id } }) as QueuedJob;
const queued = (count: number) => Array.from({ length: count }, (_, n) => queuedJob(`j${n}`));
const idsOf = async (found: Promise<FoundJobs>) => (await found).jobs.map(({ job }) => job.id);

describe("looks into the queue of one process", () => {
  it("are one for agents of one kind, at one moment and shortly after", async () => {
    const { find, answers } = given();
    const both = [find("kind"), find("kind")];
    answers[0]?.(queued(2));
    for (const found of [...both, find("kind")])
      expect(await idsOf(found)).to.deep.equal(["j0", "j1"]);
    expect(answers).to.have.length(1);
  });

  it("leave out what was given out since", async () => {
    const { find, answers, taken } = given();
    const first = find("kind");
    taken("j0");
    answers[0]?.(queued(3));
    expect(await idsOf(first)).to.deep.equal(["j1", "j2"]);
    taken("j2");
    expect(await idsOf(find("kind"))).to.deep.equal(["j1"]);
    taken("j1");
    expect(await idsOf(find("kind")), "there were no more than three").to.deep.equal([]);
    expect(answers).to.have.length(1);
  });

  it("are apart when all that a full one showed was given out", async () => {
    const { find, answers, taken } = given();
    const first = find("kind");
    answers[0]?.(queued(filter.limit));
    expect(await first).to.include({ areAll: false });
    for (const { job } of queued(filter.limit)) taken(job.id);
    const second = find("kind");
    await eventually(() => expect(answers).to.have.length(2));
    answers[1]?.([queuedJob("more")]);
    expect(await idsOf(second)).to.deep.equal(["more"]);
  });

  it("are apart after a change of rights, and after a quarter of a second", async () => {
    const { find, answers, change } = given();
    const first = find("kind");
    answers[0]?.([]);
    await first;
    change();
    void find("kind");
    expect(answers).to.have.length(2);
    answers[1]?.([]);
    await eventually(() => {
      void find("kind");
      return answers.length > 2;
    });
    expect(answers).to.have.length(3);
  });

  it("are apart for other kinds, and for jobs that one has lost", () => {
    const { find, answers } = given();
    void find("kind");
    void find("another kind");
    void find("kind", { except: ["a job"] });
    void find("kind", { limit: 20 });
    expect(answers).to.have.length(4);
  });

  it("are apart when something was queued since the first began, which may not have seen it", async () => {
    const { find, answers, queue } = given();
    const first = find("kind");
    queue();
    void find("kind");
    expect(answers).to.have.length(2);
    // What the first finds is for those who looked before.
    answers[0]?.(queued(1));
    expect(await idsOf(first)).to.deep.equal(["j0"]);
    const later = find("kind");
    answers[1]?.([]);
    expect(await idsOf(later)).to.deep.equal([]);
    expect(answers).to.have.length(2);
  });

  it("are apart after one that failed", async () => {
    const waiting = waitingFor(() => () => undefined);
    const failing = () => Promise.reject(new Error("no connection"));
    const error = await waiting.find("kind", filter, failing).catch((reason: unknown) => reason);
    expect(error).to.be.an("error");
    const none = { jobs: [], areAll: true };
    expect(await waiting.find("kind", filter, async () => [])).to.deep.equal(none);
  });
});

describe("the held requests of one agent", () => {
  it("are so many at most: the oldest is answered, and none of another agent", () => {
    const waiting = waitingFor(() => () => undefined);
    const other = waiting.hold("other");
    const held = Array.from({ length: heldPerAgentMax }, () => waiting.hold("one"));
    expect(held.some(({ over }) => over.aborted)).to.equal(false);
    const newest = waiting.hold("one");
    expect(held.map(({ over }) => over.aborted).indexOf(false)).to.equal(1);
    // What ends late takes no place from those that came since.
    for (const { release } of held) release();
    const more = Array.from({ length: heldPerAgentMax }, () => waiting.hold("one"));
    expect(newest.over.aborted).to.equal(true);
    expect([other, ...more].some(({ over }) => over.aborted)).to.equal(false);
    for (const { release } of [other, newest, ...more]) release();
  });
});
