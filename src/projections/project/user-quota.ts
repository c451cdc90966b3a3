import type { Knex } from "knex";

import { noLimit, openRoom, type Room } from "../../platform/blob/room.ts";
import { bytesUploadedOutside } from "./uploaded-file.ts";

type Limited = Readonly<{ id: string; allowed_bytes: bigint | null }>;
type Sized = Readonly<{ db: Knex; config: Readonly<{ userBytesMax: number | null }> }>;

/** How much a user may bring into projects of others; null: there is no limit. */
export const userAllowedBytes = (
  { allowed_bytes }: Pick<Limited, "allowed_bytes">,
  instanceMax: number | null,
): number | null => (allowed_bytes === null ? instanceMax : Number(allowed_bytes));

/** What a user has brought into projects of others, where it counts for the user. */
export const userBytesTaken = bytesUploadedOutside;

/** Room for what a user brings into a project of others. */
export function roomOfUser(
  user: Limited,
  expectedBytes: number,
  { db, config: { userBytesMax } }: Sized,
): Room {
  const allowedBytes = userAllowedBytes(user, userBytesMax);
  if (allowedBytes === null) return noLimit;
  const takenBytes = () => userBytesTaken(db, user.id);
  return openRoom(db, { key: `user ${user.id}`, allowedBytes, takenBytes }, expectedBytes);
}
