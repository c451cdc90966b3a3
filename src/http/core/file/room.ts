import { noLimit, type Room } from "../../../platform/blob/room.ts";
import { Refusal } from "../../../platform/refusal.ts";
import type { ProjectRow } from "../../../projections/project/project.ts";
import { projectBytesLeft, roomInProject } from "../../../projections/project/repository-size.ts";
import type { Deps } from "../deps.ts";
import type { RequestContext } from "../request.ts";

/**
 * How large a file may be that a project takes now, in bytes.
 *
 * @param bytesMax of any such file
 * @throws Refusal 413 `project.full`
 */
export async function roomForFile(
  project: Pick<ProjectRow, "id" | "allowed_bytes"> | undefined,
  bytesMax: number,
  deps: Pick<Deps, "db" | "git" | "config">,
): Promise<number> {
  const left = project === undefined ? 0 : await projectBytesLeft(deps)(project);
  if (left > 0) return Math.min(left, bytesMax);
  throw new Refusal("too_large", "project.full", "The project has no room left.");
}

/** Room for what a request brings, as much as its body has from the first byte; more of it as more comes. */
export function roomOf(
  request: Pick<RequestContext, "header"> | undefined,
  project: Pick<ProjectRow, "id" | "allowed_bytes"> | undefined,
  deps: Pick<Deps, "db" | "git" | "config">,
): Room {
  if (project === undefined) return noLimit;
  return roomInProject(project, deps, lengthOf(request));
}

/** Of a body, as far as the request says it. */
export function lengthOf(request: Pick<RequestContext, "header"> | undefined): number {
  const length = request?.header("content-length") ?? "";
  return /^\d{1,15}$/.test(length) ? Number(length) : 0;
}
