import { ConfigError } from "../config.ts";
import { repositoryStream } from "../events/repository/repository.ts";
import { openGit } from "../git/repositories.ts";
import { findProject, projectIds } from "../projections/project/project.ts";
import { refRecorder } from "../services/git/ref-recorder.ts";
import { type Stores, withStores } from "./stores.ts";
import { write } from "./write.ts";

const exitFailed = 1;

/**
 * Compares the branches and tags of all projects, or of those named, with the log and records what
 * differs as the system's: after a restore, or when git was run in a repository directly. May
 * run beside the service, and again; exits with 1 when a repository could not be compared.
 */
export async function run(names: readonly string[]): Promise<number> {
  return withStores("scan", async (stores) => {
    const { config, db, store, log } = stores;
    const git = openGit({ dataDir: config.dataDir, log });
    const refs = refRecorder({ db, store, git, log, now: () => new Date() });
    const counts = { seen: 0, recorded: 0, failed: 0 };
    try {
      for await (const projectId of wanted(stores, names)) {
        counts.seen += 1;
        try {
          const before = await events(stores, projectId);
          await refs.reconcile(projectId);
          const more = (await events(stores, projectId)) - before;
          if (more === 0n) continue;
          counts.recorded += 1;
          write(process.stdout, `${projectId}: ${more} changes recorded\n`);
        } catch (error) {
          counts.failed += 1;
          log.error({ err: error, projectId }, "a repository could not be compared");
          write(process.stdout, `${projectId}: could not be compared, see the log\n`);
        }
      }
    } finally {
      await git.close();
    }
    const { seen, recorded, failed } = counts;
    write(process.stdout, `${seen} projects, ${recorded} differed, ${failed} failed\n`);
    return failed === 0 ? 0 : exitFailed;
  });
}

async function* wanted({ db }: Stores, names: readonly string[]): AsyncGenerator<string> {
  if (names.length === 0) yield* projectIds(db);
  for (const name of names) {
    const [owner = "", alias = ""] = name.split("/");
    const project = await findProject(db, owner, alias);
    if (project === undefined)
      throw new ConfigError(`No project ${name}; write it as owner/alias.`);
    yield project.id;
  }
}

/** How many the log has of one repository. */
async function events({ store }: Stores, projectId: string): Promise<bigint> {
  for await (const { revision } of store.readStreamBackwards(repositoryStream(projectId), 1)) {
    return revision + 1n;
  }
  return 0n;
}
