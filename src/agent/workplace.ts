import { mkdir, realpath } from "node:fs/promises";
import path from "node:path";

import type { ExecutorName } from "./config.ts";
import { type Job, JobFailure } from "./job.ts";
import { environmentOf, type JobEnvironment, type SeenPlace } from "./variables.ts";

/** Directories of one job on this machine, all of them below one that is removed at its end. */
export type Workplace = Readonly<{
  /** Holds all others. */
  root: string;
  builds: string;
  project: string;
  temporary: string;
  home: string;
  scripts: string;
  /** Where the job finds them. */
  seen: SeenPlace;
  /** The value of the variable that marks processes of the job. */
  mark: string;
}>;

/** Where a sandbox or a container shows the directory of builds. */
export const seenBuilds = "/builds";

type WorkplaceInput = Readonly<{
  executor: ExecutorName;
  root: string;
  job: Job;
  mark: string;
  about: Omit<Parameters<typeof environmentOf>[0], "job" | "place" | "inImage">;
}>;

type Settled = Readonly<{
  place: Workplace;
  environment: JobEnvironment;
  /** Why the job cannot run there. */
  refused?: JobFailure;
}>;

/**
 * Makes the directories of a job, and its variables, which name them. `GIT_CLONE_PATH` chooses the
 * directory of the project below `CI_BUILDS_DIR`.
 */
export async function workplaceOf(input: WorkplaceInput): Promise<Settled> {
  const usual = await settled(input, nameOf(input.job));
  const wanted = usual.environment.values.get("GIT_CLONE_PATH") ?? "";
  if (wanted === "") return usual;
  try {
    return await settled(input, below(usual.place.seen.builds, wanted));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const refused = new JobFailure("runner_configuration_error", `GIT_CLONE_PATH: ${message}`);
    return { ...usual, refused };
  }
}

/**
 * A job may have put a link where its project was: the agent follows none.
 *
 * @returns false when the job has removed it
 * @throws JobFailure when something else is there
 */
export async function isInPlace({ project }: Workplace): Promise<boolean> {
  const found = await realpath(project).catch((error: NodeJS.ErrnoException) =>
    error.code === "ENOENT" ? undefined : "",
  );
  if (found === undefined || found === project) return found !== undefined;
  throw projectMissing();
}

/** @throws JobFailure when it is not */
export async function mustBeInPlace(place: Workplace): Promise<void> {
  if (!(await isInPlace(place))) throw projectMissing();
}

const projectMissing = (): JobFailure =>
  new JobFailure("script_failure", "the directory of the project is gone", 1);

/** @param project path below the directory of builds */
async function settled(input: WorkplaceInput, project: string): Promise<Settled> {
  const { executor, root, job, mark, about } = input;
  const within = (builds: string): SeenPlace => ({
    builds,
    project: `${builds}/${project}`,
    temporary: `${builds}/${project}.tmp`,
    home: `${builds}/${project}.home`,
    scripts: `${builds}.scripts`,
  });
  const here = within(path.join(root, "builds"));
  // Nothing of the job has run yet, so no part of a path is a link.
  for (const each of [here.builds, here.project, here.temporary, here.home, here.scripts]) {
    await mkdir(each, { recursive: true, mode: 0o700 });
  }
  const seen = executor === "shell" ? here : within(seenBuilds);
  const place = { root, ...here, mark, seen };
  return {
    place,
    environment: environmentOf({ job, place: seen, inImage: executor === "docker", ...about }),
  };
}

const nameOf = ({ job_info: { project_name: name } }: Job): string =>
  name.replaceAll(/[^\w.-]/g, "-").replace(/^[.-]+/, "") || "project";

/** @throws Error for a path that is not below the directory */
function below(builds: string, wanted: string): string {
  const relative = path.posix.relative(builds, wanted);
  const isBelow = relative !== "" && relative !== ".." && !relative.startsWith("../");
  if (path.posix.isAbsolute(wanted) && isBelow) return relative;
  throw new Error(`${wanted} is not below ${builds} (CI_BUILDS_DIR).`);
}
