import { Readable } from "node:stream";
import { expect } from "chai";
import pino from "pino";

import { Alias, ProjectId, UserId } from "../../../src/events/core/ids.ts";
import { packet } from "../../../src/git/pkt-line.ts";
import { type PushDeps, type Pusher, preparePush } from "../../../src/services/git/push.ts";
import type { Push } from "../../../src/services/git/push-intent.ts";

export const none = "0".repeat(40);
const id = "1".repeat(40);

const projectId = ProjectId.parse("7d0f5d9e-5d56-4a0c-9d5e-0d7f3c1b2a10");
const userId = UserId.parse("7d0f5d9e-5d56-4a0c-9d5e-0d7f3c1b2a11");
export const pusher = {
  project: { id: projectId },
  role: "DEVELOPER",
  caller: {
    userId,
    actor: { userId, alias: Alias.parse("anna"), via: "token", tokenId: null },
  },
  ip: "127.0.0.1",
  requestId: "r",
} as unknown as Pusher;

export type Line = readonly [before: string, after: string, ref: string];
export const news = (count: number): readonly Line[] =>
  Array.from({ length: count }, (_, index) => [none, id, `refs/heads/b${index}`]);

/** What is recorded about a push of these refs, and the options that git receives. */
export async function prepared(lines: readonly Line[], canSync = true, gitDir?: string) {
  const kept: Push[] = [];
  const deps = {
    bytesLeft: async () => 1_000_000,
    protections: async () => ({ of: () => null }),
    locking: { hasLocks: async () => false, lockedByOthers: async () => [] },
    vault: { seal: async () => ({}) },
    now: () => new Date(),
    git: { canSync: async () => canSync, find: async () => gitDir && { gitDir } },
    refs: { begin: async (push: Push) => void kept.push(push) },
    log: pino({ level: "silent" }),
  } as unknown as PushDeps;
  const commands = lines.map(([before, after, ref], index) =>
    packet(`${before} ${after} ${ref}${index === 0 ? "\0report-status" : ""}`),
  );
  const body = Readable.from([Buffer.concat([...commands, Buffer.from("0000PACK")])], {
    objectMode: false,
  });
  const push = await preparePush(body, pusher, deps, async () => undefined);
  if (Buffer.isBuffer(push)) throw new Error(push.toString());
  expect(kept).to.have.length(1);
  expect(kept[0]?.together).to.equal(push.together);
  return push;
}
