import { createHash, randomUUID } from "node:crypto";
import { z } from "zod";

import { handle } from "../../../commands/core/handle.ts";
import { lfsLock } from "../../../commands/git/lfs-lock.ts";
import { LfsLockId, Uuid } from "../../../events/core/ids.ts";
import { lfsLockStreamId } from "../../../events/git/lfs-lock.ts";
import { repositoryPath } from "../../../git/name.ts";
import { invariant } from "../../../platform/invariant.ts";
import { Refusal } from "../../../platform/refusal.ts";
import {
  findLfsLock,
  findLfsLockAt,
  type LfsLockRow,
  listLfsLocks,
} from "../../../projections/git/lfs-lock.ts";
import { atLeast } from "../../access/access.ts";
import type { Deps } from "../../core/deps.ts";
import { checked, int, nameLengthMax, pathLengthMax } from "../../core/schema.ts";
import type { LfsAccess } from "./access.ts";
import { type LfsCall, type LfsRequest, lfsAnswer, lfsBody, lfsMetadata } from "./request.ts";

/** git-lfs reads on until there is no cursor. */
const pageMax = 100;

const PageQuery = z.object({
  cursor: Uuid.optional(),
  limit: int({ min: 0 })
    .transform((limit) => Math.min(limit === 0 ? pageMax : limit, pageMax))
    .default(pageMax),
});
const ListQuery = PageQuery.extend({
  path: z.string().max(pathLengthMax).optional(),
  id: z.string().max(nameLengthMax).optional(),
});

/** Locks hold on all branches: the ref a client names is read over. git-lfs/docs/api/locking.md */
const list: LfsCall = {
  method: "GET",
  path: /^locks$/,
  operationId: "lfs-list-locks",
  async handle(request, deps) {
    const { project } = await request.authenticate("download");
    const query = checked(ListQuery, given(request.ctx.query));
    const { rows, next } = await found(deps, project.id, query);
    lfsAnswer(request, 200, { locks: rows.map(present), ...next });
  },
};

const verify: LfsCall = {
  method: "POST",
  path: /^locks\/verify$/,
  operationId: "lfs-verify-locks",
  async handle(request, deps) {
    const { project, caller } = await request.authenticate("upload");
    const { rows, next } = await page(deps, project.id, await lfsBody(request, PageQuery));
    const ours = rows.filter(({ locked_by_id }) => locked_by_id === caller.userId);
    const theirs = rows.filter(({ locked_by_id }) => locked_by_id !== caller.userId);
    lfsAnswer(request, 200, { ours: ours.map(present), theirs: theirs.map(present), ...next });
  },
};

const create: LfsCall = {
  method: "POST",
  path: /^locks$/,
  operationId: "lfs-lock",
  async handle(request, deps) {
    const { project, caller } = await request.authenticate("upload");
    const path = lockPath(
      (await lfsBody(request, z.object({ path: z.string().min(1).max(pathLengthMax) }))).path,
    );
    const lockId = LfsLockId.parse(randomUUID());
    const command = { type: "LockFile", lockId, projectId: project.id, path, ...by(caller, deps) };
    try {
      await carryOut(request, { caller, project, path }, { ...command, type: "LockFile" }, deps);
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== "lfs_lock.exists") throw error;
      const row = await findLfsLockAt(deps.db, project.id, path);
      // In the form that git-lfs expects, with the owner of the lock.
      lfsAnswer(request, 409, { ...(row && { lock: present(row) }), message: error.message });
      return;
    }
    const row = await findLfsLock(deps.db, project.id, lockId);
    invariant(row !== undefined, "a lock that was made is visible");
    lfsAnswer(request, 201, { lock: present(row) });
  },
};

/** The caller's own lock, or with force any lock for an administrator of the project. */
const unlock: LfsCall = {
  method: "POST",
  path: /^locks\/(?<id>[^/]{1,64})\/unlock$/,
  operationId: "lfs-unlock",
  async handle(request, deps) {
    const { project, caller, role } = await request.authenticate("upload");
    const { force } = await lfsBody(request, z.object({ force: z.boolean().default(false) }));
    const id = LfsLockId.safeParse(request.params["id"]);
    const row = id.success ? await findLfsLock(deps.db, project.id, id.data) : undefined;
    if (!id.success || row === undefined) {
      throw new Refusal("not_found", "lfs_lock.not_found", "There is no such lock.");
    }
    if (force && row.locked_by_id !== caller.userId && !atLeast(role, "ADMIN")) {
      const message = "Only administrators of the project unlock what others have locked.";
      throw new Refusal("forbidden", "lfs_lock.of_others", message);
    }
    const command = { type: "UnlockFile", lockId: id.data, force, ...by(caller, deps) } as const;
    await carryOut(request, { caller, project, path: row.path }, command, deps);
    lfsAnswer(request, 200, { lock: present(row) });
  },
};

export const lockCalls: readonly LfsCall[] = [list, verify, create, unlock];

type Where = Pick<LfsAccess, "caller" | "project"> & Readonly<{ path: string }>;
type Command = Parameters<typeof lfsLock.decide>[1];

async function carryOut(
  request: LfsRequest,
  { caller, project, path }: Where,
  command: Command,
  deps: Deps,
): Promise<void> {
  const digest = createHash("sha256").update(path).digest("hex").slice(0, 40);
  const id = lfsLockStreamId(project.id, digest);
  const metadata = await lfsMetadata(request, caller, randomUUID(), deps);
  const { position } = await handle(deps.store, lfsLock, { id, command, metadata });
  await deps.visible(position);
}

function by({ userId }: LfsAccess["caller"], { now }: Deps) {
  invariant(userId !== null, "nobody locks without a name");
  return { by: userId, at: now().toISOString() } as const;
}

/** As the file is called in the repository. @throws Refusal 422 `lfs_lock.path` */
function lockPath(text: string): string {
  try {
    const parts = repositoryPath(text);
    if (parts.length > 0) return parts.join("/");
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
  }
  throw new Refusal("unprocessable", "lfs_lock.path", "This can be no file of a repository.");
}

async function found(
  deps: Deps,
  projectId: string,
  { path, id, ...slice }: z.output<typeof ListQuery>,
): Promise<Page> {
  if (path === undefined && id === undefined) return page(deps, projectId, slice);
  const known = id === undefined || LfsLockId.safeParse(id).success;
  const row = !known
    ? undefined
    : id === undefined
      ? await findLfsLockAt(deps.db, projectId, path ?? "")
      : await findLfsLock(deps.db, projectId, id);
  const fits = row !== undefined && (path === undefined || row.path === path);
  return { rows: fits ? [row] : [], next: {} };
}

type Page = Readonly<{ rows: readonly LfsLockRow[]; next: Readonly<{ next_cursor?: string }> }>;

async function page(
  { db }: Deps,
  projectId: string,
  { cursor: after, limit }: z.output<typeof PageQuery>,
): Promise<Page> {
  const rows = await listLfsLocks(db, projectId, { after, countMax: limit + 1 });
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return { rows: rows.slice(0, limit), next: last === undefined ? {} : { next_cursor: last.id } };
}

/** git-lfs sends what it has no value for as an empty one. */
function given(query: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== ""));
}

const present = ({ id, path, locked_at, locked_by_alias }: LfsLockRow) => ({
  id,
  path,
  locked_at: locked_at.toISOString(),
  owner: { name: locked_by_alias },
});
