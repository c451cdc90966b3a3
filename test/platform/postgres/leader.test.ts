import { expect } from "chai";
import { StoreDenied } from "../../../src/platform/event-store/event-store.ts";
import { whileLeader, withLock } from "../../../src/platform/postgres/leader.ts";
import { eventually } from "../../support/app/eventually.ts";
import { testDatabase } from "../../support/store/database.ts";

const { url, db } = await testDatabase();
const none = new AbortController().signal;
const untilAborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve());
  });
const kill = (name: string) =>
  db.raw(
    `select pg_terminate_backend(pid) from pg_locks join pg_stat_activity using (pid)
     where locktype = 'advisory' and application_name = ? and datname = current_database()`,
    [`lock ${name}`],
  );

describe("a lock that lives as long as its session", () => {
  it("is held by one, and free as soon as that one is done", async () => {
    const inner = await withLock(url, "a", none, async () =>
      withLock(url, "a", none, async () => 1),
    );
    expect(inner).to.deep.equal({ result: undefined });
    expect(await withLock(url, "a", none, async () => 2)).to.deep.equal({ result: 2 });
  });

  it("is another one by another name", async () => {
    const both = await withLock(url, "a", none, () => withLock(url, "b", none, async () => 1));
    expect(both).to.deep.equal({ result: { result: 1 } });
  });

  it("is free when its holder failed", async () => {
    const failing = withLock(url, "a", none, () => Promise.reject(new Error("no")));
    await expect(failing).to.be.rejectedWith("no");
    expect(await withLock(url, "a", none, async () => 2)).to.deep.equal({ result: 2 });
  });

  it("notifies its holder when the session is lost", async () => {
    await withLock(url, "a", none, async (held) => {
      expect(held.aborted).to.equal(false);
      await kill("a");
      await untilAborted(held);
    });
  });
});

describe("leading", () => {
  it("has one leader at a time, and another one when it is gone", async () => {
    const ends = [new AbortController(), new AbortController()];
    const leading = new Set<number>();
    let most = 0;
    const running = ends.map(({ signal }, index) =>
      whileLeader(
        url,
        "turns",
        signal,
        async (held) => {
          leading.add(index);
          most = Math.max(most, leading.size);
          await untilAborted(held);
          leading.delete(index);
        },
        () => undefined,
      ),
    );
    await eventually(() => leading.size === 1);
    const [first] = leading;
    ends[first!]?.abort();
    await eventually(() => leading.size === 1 && !leading.has(first!));
    for (const end of ends) end.abort();
    await Promise.all(running);
    expect(most).to.equal(1);
  });

  it("is tried again after a failure, which is reported", async () => {
    const end = new AbortController();
    const reported: unknown[] = [];
    let turns = 0;
    const lead = async () => {
      turns += 1;
      if (turns === 1) throw new Error("not today");
      end.abort();
    };
    await whileLeader(url, "again", end.signal, lead, (error) => reported.push(error));
    expect(turns).to.equal(2);
    expect(reported.map(String)).to.deep.equal(["Error: not today"]);
  });
});

it("reports a reason that stays once, and does not try all the time", async () => {
  const ending = new AbortController();
  const reported: unknown[] = [];
  let tries = 0;
  const lead = async () => {
    tries += 1;
    throw new StoreDenied("no rights");
  };
  const leading = whileLeader(url, "denied", ending.signal, lead, (error) => reported.push(error));
  await eventually(() => reported.length > 0);
  let other = 0;
  const passing = async () => {
    other += 1;
    throw new Error("passes");
  };
  const beside = whileLeader(url, "beside", ending.signal, passing, (error) =>
    reported.push(error),
  );
  await eventually(() => other > 2);
  ending.abort();
  await Promise.all([leading, beside]);
  // On a busy machine the others may take longer than the pause between its tries.
  expect(tries).to.be.below(other);
  expect(reported.map(String)).to.deep.equal(["StoreDenied: no rights", "Error: passes"]);
});
