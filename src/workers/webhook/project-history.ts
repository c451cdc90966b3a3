import { decode } from "../../events/core/decode.ts";
import type { Recorded } from "../../events/core/event.ts";
import { type ProjectEvent, projectEvents, projectStream } from "../../events/project/project.ts";
import type { ProjectRow } from "../../projections/project/project.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";

/** What payloads say of a project beside its names and addresses, which work only as they are now. */
type Profile = Pick<ProjectRow, "title" | "language" | "is_private">;

export type ProjectAt = (position: bigint) => Profile | undefined;

/** Reads the stream of a project once, and answers what the project was like at positions of the log. */
export async function projectHistory(
  projectId: string,
  { store }: Pick<WorkerDeps, "store">,
): Promise<ProjectAt> {
  const history: Readonly<{ position: bigint; profile: Profile }>[] = [];
  for await (const recorded of store.readStream(projectStream(projectId))) {
    const before = history.at(-1)?.profile;
    const profile = profileAfter(before, decode(projectEvents, recorded));
    if (profile !== undefined && profile !== before)
      history.push({ position: recorded.position, profile });
  }
  return (at) => history.findLast(({ position }) => position <= at)?.profile;
}

function profileAfter(
  before: Profile | undefined,
  { type, data }: Recorded<ProjectEvent>,
): Profile | undefined {
  if (type === "ProjectCreated") {
    return { title: data.title, language: data.language, is_private: data.private };
  }
  if (before === undefined) return undefined;
  if (type === "ProjectVisibilityChanged") return { ...before, is_private: data.private };
  if (type !== "ProjectDetailsChanged") return before;
  return { ...before, title: data.details.title, language: data.details.language };
}
