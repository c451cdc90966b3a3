import { noLimit, type Room } from "../../platform/blob/room.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { ProjectRow } from "../../projections/project/project.ts";
import { projectBytesLeft, roomInProject } from "../../projections/project/repository-size.ts";
import { roomOfUser, userBytesLeft } from "../../projections/project/user-quota.ts";
import { isMember } from "../../projections/team/member-role.ts";
import { findUserById } from "../../projections/user/user.ts";
import type { SourceDeps } from "./source-subject.ts";

/** Whom the bytes count for that a request brings into its target. */
export type SourceAccount = Readonly<{
  /** Its author, who is no member of the target; otherwise the target. */
  isAuthors: boolean;
  bytesLeft: () => Promise<number>;
  room: (expectedBytes: number) => Room;
  /** Of one of the two kinds that take no more. */
  full: (what: string) => Refusal;
}>;

export async function accountOf(
  deps: SourceDeps,
  { target, authorId }: Readonly<{ target: ProjectRow; authorId: string }>,
): Promise<SourceAccount> {
  if (await isMember(deps.db, target, authorId)) {
    return {
      isAuthors: false,
      bytesLeft: () => projectBytesLeft(deps)(target),
      room: (expectedBytes) => roomInProject(target, deps, expectedBytes),
      full: (what) => refused("project.full", `${what} than the target project may still take.`),
    };
  }
  const user = await findUserById(deps.db, authorId);
  return {
    isAuthors: true,
    bytesLeft: async () =>
      user === undefined ? Number.MAX_SAFE_INTEGER : await userBytesLeft(user, deps),
    room: (expectedBytes) => (user === undefined ? noLimit : roomOfUser(user, expectedBytes, deps)),
    full: (what) =>
      refused(
        "user.full",
        `${what} than the author, who is no member of the target project, may still bring into projects of others.`,
      ),
  };
}

const refused = (code: string, message: string) => new Refusal("unprocessable", code, message);

/** Nobody who would pay for what a request brings has room left. */
export const isFull = (error: unknown): boolean =>
  error instanceof Refusal && (error.code === "project.full" || error.code === "user.full");
