import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { handle } from "../../../src/commands/core/handle.ts";
import { handleKept } from "../../../src/commands/core/handle-kept.ts";
import { user } from "../../../src/commands/user/user.ts";
import { Alias, UserId } from "../../../src/events/core/ids.ts";
import { Sealed } from "../../../src/events/core/sealed.ts";
import { userStream } from "../../../src/events/user/user.ts";
import type { EventStore } from "../../../src/platform/event-store/event-store.ts";
import { at, metadataFor } from "../../support/app/history.ts";
import { testEventStore } from "../../support/store/event-store.ts";

const { store } = await testEventStore();

describe("handling commands on streams that this process wrote", () => {
  const by = UserId.parse(randomUUID());
  const ban = { type: "BanUser", reason: null, by, at } as const;
  const unban = { type: "UnbanUser", by, at } as const;
  let reads = 0;
  const watched: EventStore = {
    ...store,
    readStream: (...read) => {
      reads += 1;
      return store.readStream(...read);
    },
  };
  const order = <Command>(id: string, command: Command) => ({
    id,
    command,
    metadata: metadataFor(randomUUID()),
  });

  /** A user whose stream this process has read for the last time when it was banned. */
  async function banned(): Promise<UserId> {
    const userId = UserId.parse(randomUUID());
    const email = Sealed.parse(`sealed.user-${userId}.AAAA`);
    const facts = { emailDigest: "d", passwordHash: null, admin: false, confirmed: true } as const;
    const alias = Alias.parse("anna");
    const command = { type: "RegisterUser", userId, alias, email, ...facts, at } as const;
    await handle(store, user, order(userId, command));
    await handleKept(watched, user, order(userId, ban));
    reads = 0;
    return userId;
  }

  async function typesOf(id: string): Promise<readonly string[]> {
    const types: string[] = [];
    for await (const { type } of store.readStream(userStream(id))) types.push(type);
    return types.slice(2);
  }

  it("reads nothing and appends in order", async () => {
    const id = await banned();
    for (const command of [unban, ban]) await handleKept(watched, user, order(id, command));
    expect(reads).to.equal(0);
    expect(await typesOf(id)).to.deep.equal(["UserUnbanned", "UserBanned"]);
  });

  it("decides by what another process wrote when its own append is refused", async () => {
    const id = await banned();
    await handle(store, user, order(id, unban));
    await handle(store, user, order(id, ban));
    await handleKept(watched, user, order(id, unban));
    expect(reads).to.be.above(0);
    expect((await typesOf(id)).at(-1)).to.equal("UserUnbanned");
  });

  it("refuses nothing by what it kept", async () => {
    const id = await banned();
    await handle(store, user, order(id, unban));
    await handleKept(watched, user, order(id, ban));
    expect((await typesOf(id)).at(-1)).to.equal("UserBanned");
    const again = handleKept(watched, user, order(id, ban));
    await expect(again).to.be.rejected.and.eventually.include({ code: "user.already_blocked" });
  });
});
