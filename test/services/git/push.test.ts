import { spawn } from "node:child_process";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { expect } from "chai";
import pino from "pino";
import { startPackService } from "../../../src/git/pack-service.ts";
import { packet } from "../../../src/git/pkt-line.ts";
import { StoreUnavailable } from "../../../src/platform/event-store/event-store.ts";
import { Refusal } from "../../../src/platform/refusal.ts";
import { carryOut, type PushDeps, preparePush } from "../../../src/services/git/push.ts";
import type { Push } from "../../../src/services/git/push-intent.ts";
import { news, none, prepared, pusher } from "../../support/git/prepared-push.ts";

const id = "1".repeat(40);
const other = "2".repeat(40);

describe("refs of a push are synced together", () => {
  it("when there are many and all of them are new", async () => {
    expect((await prepared(news(101))).together).to.equal(true);
  });

  it("not when they are few: everything else on the disk would be written with them", async () => {
    expect((await prepared(news(100))).together).to.equal(false);
  });

  for (const [what, line] of [
    ["moved", [id, other, "refs/heads/was"]],
    ["deleted", [id, none, "refs/heads/was"]],
    ["deleted that is not there", [none, none, "refs/heads/never"]],
  ] as const) {
    it(`not when one of them is ${what}`, async () => {
      expect((await prepared([...news(200), line])).together).to.equal(false);
    });
  }

  it("not where that cannot be relied on", async () => {
    expect((await prepared(news(200), false)).together).to.equal(false);
  });

  it("by the service: git's configuration excludes them, and nothing else", () => {
    const started = (together: boolean) => {
      const child = startPackService("/nowhere", "receive-pack", { advertise: false, together });
      child.stdin.on("error", () => undefined);
      return child.spawnargs;
    };
    expect(started(true)).to.include("core.fsync=objects,-reference");
    expect(started(false).join(" ")).not.to.contain("core.fsync");
  });
});

describe("the front of a push that cannot be read", () => {
  it("fails with the error of the connection, which is no refusal of the push", async () => {
    const lost = new Error("connection lost");
    const body = Readable.from(
      (async function* () {
        yield Buffer.from("00");
        throw lost;
      })(),
      { objectMode: false },
    );
    const failure = await preparePush(body, pusher, {} as PushDeps, async () => undefined).catch(
      (error: unknown) => error,
    );
    expect(failure).to.equal(lost);
  });
});

describe("a push that is recorded, and that readers cannot see yet", () => {
  const ref = "refs/heads/b0";
  const lines = [packet("unpack ok\n"), packet(`ok ${ref}\n`), Buffer.from("0000")];
  const report = packet(Buffer.concat([Buffer.from([1]), ...lines]));

  /** Carries out a push whose git reports success; waiting for its position fails. */
  async function carriedOut(failure: Error) {
    // Prints what it reads, in git's place.
    const child = spawn("cat");
    const finished: unknown[] = [];
    const deps = {
      git: { find: async () => undefined },
      refs: {
        async finish(_push: Push, made: unknown) {
          finished.push(made);
          return 7n;
        },
      },
      visible: () => Promise.reject(failure),
      log: pino({ level: "silent" }),
    } as unknown as PushDeps;
    const answer = new PassThrough();
    const answered = text(answer).catch((error: unknown) => error);
    const underway = {
      ...(await prepared(news(1))),
      ...{ child, stop: () => child.kill(), sideBand: true, answer, requestId: "r" },
      ...{ commands: report, body: Readable.from([], { objectMode: false }) },
    };
    const end = await carryOut(underway, deps);
    expect(finished).to.deep.equal([new Set([ref])]);
    return { end, answered: await answered };
  }

  it("is acknowledged with a remark while the read models are behind", async () => {
    const late = new Refusal("unavailable", "projection.lagging", "Not yet.");
    const { end, answered } = await carriedOut(late);
    expect(end).to.deep.equal({ exitCode: 0 });
    expect(answered).to.include("Your push is recorded;").and.include(`ok ${ref}`);
  });

  it("is refused with one line that says to repeat it, while the event store is away", async () => {
    const { end, answered } = await carriedOut(new StoreUnavailable("away"));
    expect(end).to.equal(undefined);
    expect(answered).to.include("cannot record the push at the moment. Push again.");
    expect(answered).to.not.include(`ok ${ref}`);
  });

  it("is not acknowledged when the wait fails for another reason", async () => {
    const lost = new Error("connection lost");
    expect(await carriedOut(lost)).to.deep.equal({ end: undefined, answered: lost });
  });
});
