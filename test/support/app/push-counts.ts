import { pushCountStream } from "../../../src/events/user/push-count.ts";
import { refRecorder } from "../../../src/services/git/ref-recorder.ts";
import { git, temporaryDirectory, workingCopy } from "../git/git.ts";
import { givenProject, testWorkers } from "./worker-deps.ts";

export const never = new AbortController().signal;

export async function givenPushCounts() {
  const { deps } = await testWorkers();
  const parent = await temporaryDirectory();
  let projectId: string;
  let gitDir: string;
  let copy: string;
  let count = 0;
  beforeEach(async () => {
    count += 1;
    ({ projectId } = await givenProject(deps, `project-${count}`));
    ({ gitDir } = await deps.git.ensure(projectId, "main"));
    copy = await workingCopy(parent, `copy-${count}`);
  });
  /** Pushes into the repository and records it, as the push of nobody that is known. */
  async function pushed(...refspecs: string[]): Promise<void> {
    await git(copy, "push", "--quiet", "--force", gitDir, ...refspecs);
    await refRecorder(deps).reconcile(projectId);
  }
  async function recordedCounts(): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const counts = [];
    for await (const { data } of deps.store.readStream(pushCountStream(projectId)))
      counts.push(data);
    return counts;
  }
  return {
    ...{ deps, pushed, recordedCounts },
    get projectId() {
      return projectId;
    },
    get gitDir() {
      return gitDir;
    },
    get copy() {
      return copy;
    },
  };
}
