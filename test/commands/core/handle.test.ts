import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { handle, handleKnown, loadState } from "../../../src/commands/core/handle.ts";
import { user } from "../../../src/commands/user/user.ts";
import type { Recorded } from "../../../src/events/core/event.ts";
import { Alias, UserId } from "../../../src/events/core/ids.ts";
import { Sealed } from "../../../src/events/core/sealed.ts";
import { userStream } from "../../../src/events/user/user.ts";
import {
  type EventStore,
  RevisionConflict,
} from "../../../src/platform/event-store/event-store.ts";
import { at, metadataFor } from "../../support/app/history.ts";
import { testEventStore } from "../../support/store/event-store.ts";

const { store } = await testEventStore();

describe("handling a command", () => {
  const by = UserId.parse(randomUUID());
  const ban = { type: "BanUser", reason: null, by, at } as const;
  const order = <Command>(id: string, command: Command, commandId: string = randomUUID()) => ({
    id,
    command,
    metadata: metadataFor(commandId),
  });

  async function registered(): Promise<UserId> {
    const userId = UserId.parse(randomUUID());
    const email = Sealed.parse(`sealed.user-${userId}.AAAA`);
    const facts = { emailDigest: "d", passwordHash: null, admin: false, confirmed: true } as const;
    const alias = Alias.parse("anna");
    const command = { type: "RegisterUser", userId, alias, email, ...facts, at } as const;
    await handle(store, user, order(userId, command));
    return userId;
  }

  async function newestOf(id: string) {
    for await (const event of store.readStreamBackwards(userStream(id), 1)) return event;
    return undefined;
  }

  async function eventsOf(id: string) {
    const events: Recorded[] = [];
    for await (const event of store.readStream(userStream(id))) events.push(event);
    return events;
  }

  async function typesOf(id: string): Promise<string[]> {
    const types: string[] = [];
    for await (const event of store.readStream(userStream(id))) types.push(event.type);
    return types;
  }

  it("goes on from what it answered without reading the stream again", async () => {
    const id = await registered();
    const reads: string[] = [];
    const watched: EventStore = {
      ...store,
      readStream: (stream, ...rest) => {
        reads.push(stream);
        return store.readStream(stream, ...rest);
      },
    };
    const banned = await handleKnown(store, user, order(id, ban));
    expect(banned.state).to.deep.equal((await loadState(store, user, id)).state);
    const unban = { type: "UnbanUser", by, at } as const;
    const unbanned = await handleKnown(watched, user, order(id, unban), banned);
    expect(reads).to.deep.equal([]);
    expect(unbanned).to.deep.include({ revision: 2n });
  });

  it("appends what was decided and answers its position", async () => {
    const id = await registered();
    const { position } = await handle(store, user, order(id, ban));
    const newest = await newestOf(id);
    expect(newest).to.include({ type: "UserBanned", position, revision: 1n });
  });

  it("does not write a command again that it handled before", async () => {
    const id = await registered();
    const repeated = order(id, ban);
    const first = await handle(store, user, repeated);
    expect(await handle(store, user, repeated)).to.deep.equal(first);
    expect(await typesOf(id)).to.deep.equal(["UserRegistered", "UserBanned"]);
  });

  it("decides again when another writer got in first", async () => {
    const id = await registered();
    let races = 1;
    const contended: EventStore = {
      ...store,
      async append(...write) {
        if (races-- > 0) {
          await handle(store, user, order(id, ban));
          throw new RevisionConflict();
        }
        return store.append(...write);
      },
    };
    await expect(handle(contended, user, order(id, ban))).to.be.rejected.and.eventually.include({
      code: "user.already_blocked",
    });
  });

  it("reads nothing when given the current state of the stream", async () => {
    const id = await registered();
    const last = await newestOf(id);
    const unread: EventStore = {
      ...store,
      readStream: () => {
        throw new Error("read all the same");
      },
    };
    const { evolve, initialState } = user;
    const state = evolve(initialState, last as never);
    const known = { state, revision: 0n, position: last?.position };
    const { position } = await handle(unread, user, order(id, ban), known);
    expect(await newestOf(id)).to.include({ type: "UserBanned", position });
  });

  it("reads the stream when the given state is outdated", async () => {
    const id = await registered();
    await handle(store, user, order(id, ban));
    const { evolve, initialState } = user;
    const state = (await eventsOf(id)).reduce(
      (past, event) => evolve(past, event as never),
      initialState,
    );
    const known = { state, revision: 0n, position: 0n };
    await handle(store, user, order(id, { type: "UnbanUser", by, at } as const), known);
    expect(await typesOf(id)).to.deep.equal(["UserRegistered", "UserBanned", "UserUnbanned"]);
  });

  it("lets one of two racing writers win, and the other see it", async () => {
    const id = await registered();
    const outcomes = await Promise.allSettled([
      handle(store, user, order(id, ban)),
      handle(store, user, order(id, ban)),
    ]);
    expect(outcomes.map(({ status }) => status).sort()).to.deep.equal(["fulfilled", "rejected"]);
    expect(await typesOf(id)).to.deep.equal(["UserRegistered", "UserBanned"]);
  });

  it("lets many writers of one stream through, one after another", async () => {
    const id = await registered();
    const sealed = (text: string) => Sealed.parse(`sealed.user-${id}.${text}`);
    const rename = (name: string) =>
      ({
        type: "ChangeUserProfile",
        name: sealed(name),
        surname: null,
        avatar: null,
        cover: null,
        by,
        at,
      }) as const;
    const names = Array.from({ length: 30 }, (_, index) => `name${index}`);
    await Promise.all(names.map((name) => handle(store, user, order(id, rename(name)))));
    expect(await typesOf(id)).to.have.length(1 + names.length);
  });

  it("gives up after five lost races", async () => {
    const id = await registered();
    let appends = 0;
    const spinning: EventStore = {
      ...store,
      append: () => {
        appends += 1;
        return Promise.reject(new RevisionConflict());
      },
    };
    await expect(handle(spinning, user, order(id, ban))).to.be.rejectedWith(RevisionConflict);
    expect(appends).to.equal(5);
  });

  it("answers the last position when nothing had to change", async () => {
    const id = await registered();
    const unban = { type: "UnbanUser", by, at } as const;
    const newest = await newestOf(id);
    expect(await handle(store, user, order(id, unban))).to.deep.equal({
      position: newest?.position,
    });
  });
});
