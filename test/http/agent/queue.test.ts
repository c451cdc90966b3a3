import { expect } from "chai";

import { waitingFor } from "../../../src/http/agent/queue.ts";
import type { QueuedJob, QueueFilter } from "../../../src/projections/pipeline/queue.ts";

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
  return { find, answers, queue: () => changed("jobs") };
}

describe("looks into the queue at one moment", () => {
  it("are one for agents of one kind", async () => {
    const { find, answers } = given();
    const both = [find("kind"), find("kind")];
    expect(answers).to.have.length(1);
    answers[0]?.([]);
    const [one, other] = await Promise.all(both);
    expect(one).to.equal(other);
    void find("kind");
    expect(answers).to.have.length(2);
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
    // The end of the first does not end the second.
    answers[0]?.([]);
    await first;
    void find("kind");
    expect(answers).to.have.length(2);
  });

  it("are apart after one that failed", async () => {
    const waiting = waitingFor(() => () => undefined);
    const failing = () => Promise.reject(new Error("no connection"));
    const error = await waiting.find("kind", filter, failing).catch((reason: unknown) => reason);
    expect(error).to.be.an("error");
    expect(await waiting.find("kind", filter, async () => [])).to.deep.equal([]);
  });
});
