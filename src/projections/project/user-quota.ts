import type { Knex } from "knex";

import { heldBytes, noLimit, openRoom, type Quota, type Room } from "../../platform/blob/room.ts";
import { bytesBroughtBy } from "./brought-bytes.ts";
import { bytesUploadedOutside } from "./uploaded-file.ts";

type Limited = Readonly<{ id: string; allowed_bytes: bigint | null }>;
type Sized = Readonly<{ db: Knex; config: Readonly<{ userBytesMax: number | null }> }>;

/** How much a user may bring into projects of others; null: there is no limit. */
export const userAllowedBytes = (
  { allowed_bytes }: Pick<Limited, "allowed_bytes">,
  instanceMax: number | null,
): number | null => (allowed_bytes === null ? instanceMax : Number(allowed_bytes));

/** What a user has brought into projects of others, where it counts for the user. */
export async function userBytesTaken(db: Knex, userId: string): Promise<number> {
  const [uploaded, brought] = await Promise.all([
    bytesUploadedOutside(db, userId),
    bytesBroughtBy(db, userId),
  ]);
  return uploaded + brought;
}

function quotaOf(user: Limited, { db, config: { userBytesMax } }: Sized): Quota | undefined {
  const allowedBytes = userAllowedBytes(user, userBytesMax);
  if (allowedBytes === null) return undefined;
  const takenBytes = () => userBytesTaken(db, user.id);
  return { key: `user ${user.id}`, allowedBytes, takenBytes };
}

/** Room for what a user brings into a project of others. */
export function roomOfUser(user: Limited, expectedBytes: number, deps: Sized): Room {
  const quota = quotaOf(user, deps);
  return quota === undefined ? noLimit : openRoom(deps.db, quota, expectedBytes);
}

/** What the user may still bring beside what is on its way. */
export async function userBytesLeft(user: Limited, deps: Sized): Promise<number> {
  const quota = quotaOf(user, deps);
  if (quota === undefined) return Number.MAX_SAFE_INTEGER;
  const held = await heldBytes(deps.db, quota.key);
  return Math.max(0, quota.allowedBytes - held - (await quota.takenBytes()));
}
