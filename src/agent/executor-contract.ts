import type { ExecutorName } from "./config.ts";
import type { Job } from "./job.ts";
import type { LogFile } from "./log-file.ts";
import type { Command } from "./processes.ts";
import type { JobEnvironment } from "./variables.ts";
import type { Workplace } from "./workplace.ts";

export type Executor = Readonly<{
  name: ExecutorName;
  /** Whether nothing of the job is left on the machine, and it sees nothing of others. */
  isolated: boolean;
  /**
   * Where git is run: with the job, in a sandbox beside its container, or else (undefined) on this machine, before
   * anything of the job.
   */
  git: "with the job" | Executor | undefined;
  /** @param script path as the job sees it */
  command: (place: Workplace, script: string) => Command;
  /** Ends what a killed command leaves behind. */
  clean: () => Promise<void>;
  /**
   * Gets ready what the scripts of a job need.
   *
   * @returns the executor of this job
   * @throws JobFailure
   */
  prepare?: (of: Preparing) => Promise<Executor>;
  /** Lets the user of the job work with what the agent made, before its first script. */
  handOver?: () => Promise<void>;
  /** @throws JobFailure when the script did not begin at all */
  mustHaveRun?: (code: number | null) => Promise<void>;
  /** Removes what is kept for the job between its scripts. */
  remove?: (place: Pick<Workplace, "mark">) => Promise<void>;
  /** Removes what is left of all jobs of this agent. */
  removeAll?: (systemId: string) => Promise<void>;
}>;

export type Preparing = Readonly<{
  job: Job;
  place: Workplace;
  environment: JobEnvironment;
  log: LogFile;
  signal: AbortSignal;
}>;
