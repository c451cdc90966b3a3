import { expect } from "chai";

import { Topics } from "../../../src/embedded/event-store/topics.ts";

const soon = (promise: Promise<void>) =>
  Promise.race([promise.then(() => "woken"), new Promise((r) => setImmediate(r, "waiting"))]);

describe("waking subscriptions", () => {
  it("wakes those of the topic and no others", async () => {
    const topics = new Topics();
    const { signal } = new AbortController();
    const [one, two, other] = [
      topics.watch("a", signal),
      topics.watch("a", signal),
      topics.watch("b", signal),
    ];
    const waiting = [one(), two(), other()];
    topics.wake("a");
    expect(await Promise.all(waiting.map(soon))).to.deep.equal(["woken", "woken", "waiting"]);
  });

  it("remembers a wake that came while nobody waited, once", async () => {
    const topics = new Topics();
    const changed = topics.watch("a", new AbortController().signal);
    topics.wake("a");
    topics.wake("a");
    expect(await soon(changed())).to.equal("woken");
    expect(await soon(changed())).to.equal("waiting");
  });

  it("wakes again and again", async () => {
    const topics = new Topics();
    const changed = topics.watch("a", new AbortController().signal);
    for (let n = 0; n < 3; n += 1) {
      const waiting = changed();
      expect(await soon(waiting)).to.equal("waiting");
      topics.wake("a");
      expect(await soon(waiting)).to.equal("woken");
    }
  });

  it("ends the wait of who stops watching, before or meanwhile", async () => {
    const topics = new Topics();
    const stopping = new AbortController();
    const changed = topics.watch("a", stopping.signal);
    const waiting = changed();
    stopping.abort();
    expect(await soon(waiting)).to.equal("woken");
    expect(await soon(changed())).to.equal("woken");
    const late = topics.watch("a", AbortSignal.abort());
    expect(await soon(late())).to.equal("woken");
  });

  it("wakes every topic at once", async () => {
    const topics = new Topics();
    const { signal } = new AbortController();
    const waiting = ["a", "b", "c"].map((topic) => topics.watch(topic, signal)());
    topics.wakeAll();
    expect(await Promise.all(waiting.map(soon))).to.deep.equal(["woken", "woken", "woken"]);
  });
});
