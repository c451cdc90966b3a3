import { repositoryStream } from "../../../src/events/repository/repository.ts";
import { startGitApp, type TestProject, type TestUser } from "../app/git-app.ts";
import { git, temporaryDirectory, workingCopy } from "./git.ts";

type Given = Readonly<{ anna: TestUser; project: TestProject; copy: string }>;

/** For each test a project that nobody has pushed to, and a working copy whose `origin` it is. */
export async function pushWorld() {
  const app = await startGitApp();
  const parent = await temporaryDirectory();
  let anna: TestUser;
  let world: Given;
  let count = 0;

  before(async () => {
    anna = await app.user("anna");
  });
  beforeEach(async () => {
    count += 1;
    const project = await app.project(anna, `project-${count}`);
    const copy = await workingCopy(parent, `copy-${count}`);
    await git(copy, "remote", "add", "origin", app.remote(project, anna));
    world = { anna, project, copy };
  });

  return {
    app,
    parent,
    given: () => world,
    /** What the log records of the project's repository: `BranchCreated main`. */
    async recordedChanges(): Promise<readonly string[]> {
      const changes: string[] = [];
      const stream = repositoryStream(world.project.id);
      for await (const { type, data } of app.store.readStream(stream)) {
        const name = data["branch"] ?? data["tag"] ?? data["notes"];
        changes.push(`${type} ${name}${data["forced"] === true ? " forced" : ""}`);
      }
      return changes;
    },
  };
}
