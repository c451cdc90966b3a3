import { mkdir, readFile } from "node:fs/promises";
import path from "node:path";

import type { Client } from "../../../src/agent/client.ts";
import { shell } from "../../../src/agent/executor.ts";
import type { Executor } from "../../../src/agent/executor-contract.ts";
import { Job, JobFailure } from "../../../src/agent/job.ts";
import { carryOut } from "../../../src/agent/job-run.ts";
import { LogFile } from "../../../src/agent/log-file.ts";
import type { JobEnd } from "../../../src/agent/trace-upload.ts";
import { workplaceOf } from "../../../src/agent/workplace.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../git/git.ts";
import { eventually } from "./eventually.ts";

type More = Readonly<{
  client?: Client;
  executor?: Executor;
  variables?: Readonly<Record<string, string>>;
  script?: readonly string[];
  afterScript?: readonly string[];
  hooks?: unknown;
  /** Further fields of the job, as the service gives them. */
  fields?: Readonly<Record<string, unknown>>;
  /** After the commit of the job was read. */
  beforeRun?: () => Promise<void>;
  /** Cancels the job once its log has this text. */
  canceledAt?: string;
  /** Just before. */
  atCancel?: () => Promise<void>;
}>;

export type Carried = Readonly<{
  end: JobEnd;
  /** The log. */
  said: string;
  /** The directory of the project on this machine. */
  project: string;
}>;

/** A repository, and jobs of it that an agent carries out without a service. */
export async function givenJobs() {
  const parent = await temporaryDirectory();
  const repository = await workingCopy(parent, "search");
  await commit(repository, "First", { "a.txt": "a\n" });
  let jobs = 0;

  async function run(more: More = {}): Promise<Carried> {
    jobs += 1;
    const { client = {} as Client, executor = shell, canceledAt } = more;
    const sha = (await git(repository, "rev-parse", "HEAD")).trim();
    const job = Job.parse({
      ...{ id: jobs, token: "secret-of-job", runner_info: {}, hooks: more.hooks },
      job_info: { name: "test", project_id: 1, project_name: "search" },
      git_info: { repo_url: `file://${repository}`, sha, refspecs: ["+refs/heads/*:refs/heads/*"] },
      variables: Object.entries(more.variables ?? {}).map(([key, value]) => ({ key, value })),
      steps: [
        { name: "script", script: more.script },
        { name: "after_script", script: more.afterScript },
      ],
      ...more.fields,
    });
    const root = path.join(parent, `job-${jobs}`);
    await mkdir(root);
    const about = { timeoutSeconds: 60, slot: 0, version: "1", isolated: true };
    const mark = `carried-${process.pid}:${jobs}`;
    const settled = await workplaceOf({ executor: executor.name, root, job, mark, about });
    const log = new LogFile(path.join(root, "log"), []);
    const said = () => readFile(path.join(root, "log"), "utf8");
    const script = new AbortController();
    await more.beforeRun?.();
    const carried = carryOut({
      ...{ job, client, executor, ...settled, log, script: script.signal },
      over: new AbortController().signal,
      cacheDirectory: path.join(parent, "cache"),
    });
    if (canceledAt !== undefined) {
      await eventually(async () => (await said()).includes(canceledAt));
      await more.atCancel?.();
      script.abort(new JobFailure("job_canceled", "it was canceled"));
    }
    const end = await carried;
    log.end();
    log.close();
    return { end, said: await said(), project: settled.place.project };
  }

  return { parent, repository, run };
}
