import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { assignLocalId, type ToNumber } from "../../../src/commands/core/local-id.ts";
import { ProjectId } from "../../../src/events/core/ids.ts";
import { type LocalIdKind, localIdStream } from "../../../src/events/core/local-id.ts";
import {
  type EventStore,
  StoreUnavailable,
} from "../../../src/platform/event-store/event-store.ts";
import { openEventStore } from "../../../src/platform/event-store/eventstoredb.ts";
import { at, metadataFor } from "../../support/app/history.ts";
import { testEventStore } from "../../support/store/event-store.ts";
import { collect, newEvent, newStream } from "../../support/store/test-event.ts";

const { store, url } = await testEventStore();
const otherProcesses = Array.from({ length: 4 }, () => openEventStore(url));
after(() => Promise.all(otherProcesses.map((other) => other.close())));

let projectId: ProjectId;
beforeEach(() => {
  projectId = ProjectId.parse(randomUUID());
});

/** Something that was created just now. */
async function subject(kind: LocalIdKind = "ISSUE"): Promise<ToNumber> {
  const { position } = await store.append(newStream(), "none", [newEvent()]);
  return { kind, projectId, subjectId: randomUUID(), createdPosition: position };
}

/** As if one append had created all of them. */
async function subjects(count: number): Promise<ToNumber[]> {
  const one = await subject();
  return Array.from({ length: count }, () => ({ ...one, subjectId: randomUUID() }));
}

const number = (what: ToNumber, by: EventStore = store) =>
  assignLocalId({ store: by, now: () => at }, what, metadataFor(randomUUID()));

const numbers = async (what: readonly ToNumber[], by?: EventStore): Promise<number[]> =>
  (await Promise.all(what.map((each) => number(each, by)))).map(({ localId }) => localId);

async function stored(kind: LocalIdKind = "ISSUE"): Promise<unknown[]> {
  const events = await collect(store.readStream(localIdStream(kind, projectId)));
  return events.map(({ data }) => data["localId"]);
}

const upTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1);

/** A connection that is cut at the next append: before it, or after it and before the answer. */
function cutAt(when: "before" | "after"): EventStore {
  let cut = false;
  return {
    ...store,
    async append(stream, expected, events) {
      if (cut) return store.append(stream, expected, events);
      cut = true;
      if (when === "after") await store.append(stream, expected, events);
      throw new StoreUnavailable("cut");
    },
  };
}

describe("numbering things of a project", () => {
  it("counts from 1, each kind and each project by itself", async () => {
    expect(await numbers([await subject()])).to.deep.equal([1]);
    expect(await numbers([await subject()])).to.deep.equal([2]);
    expect(await numbers([await subject("MERGE_REQUEST")])).to.deep.equal([1]);
    projectId = ProjectId.parse(randomUUID());
    expect(await numbers([await subject()])).to.deep.equal([1]);
  });

  it("numbers things in the order in which they were handed over", async () => {
    expect(await numbers(await subjects(600))).to.deep.equal(upTo(600));
    expect(await stored()).to.deep.equal(upTo(600));
  });

  it("leaves no gap and repeats nothing when several processes number at once", async () => {
    const given = await Promise.all(
      otherProcesses.map(async (other) => {
        const own: number[] = [];
        for (let round = 0; round < 5; round += 1) {
          own.push(...(await numbers(await subjects(8), other)));
        }
        return own;
      }),
    );
    expect(given.flat().sort((a, b) => a - b)).to.deep.equal(upTo(160));
    expect(await stored()).to.deep.equal(upTo(160));
  });

  it("answers the number that a thing has, in this process and in another", async () => {
    const all = await subjects(100);
    const first = await numbers(all);
    const [, other] = otherProcesses;
    expect(await numbers(all)).to.deep.equal(first);
    expect(await numbers(all, other!)).to.deep.equal(first);
    expect(await numbers([all[0]!, all[0]!])).to.deep.equal([first[0], first[0]]);
    expect(await stored()).to.deep.equal(upTo(100));
  });

  it("answers it also when many were numbered since", async () => {
    const early = await subject();
    expect(await numbers([early])).to.deep.equal([1]);
    for (let round = 0; round < 3; round += 1) await numbers(await subjects(256));
    expect(await numbers([early])).to.deep.equal([1]);
    expect(await stored()).to.have.length(1 + 3 * 256);
  });

  for (const when of ["before", "after"] as const) {
    it(`leaves no gap when the connection is cut ${when} the append`, async () => {
      const all = await subjects(3);
      const cut = cutAt(when);
      const answers = await Promise.allSettled(all.map((each) => number(each, cut)));
      expect(answers.map(({ status }) => status)).to.deep.equal(Array(3).fill("rejected"));
      expect(await numbers([await subject()])).to.deep.equal([when === "after" ? 4 : 1]);
      expect((await numbers(all, cut)).sort()).to.deep.equal(
        when === "after" ? [1, 2, 3] : [2, 3, 4],
      );
      expect(await stored()).to.deep.equal(upTo(4));
    });
  }
});
