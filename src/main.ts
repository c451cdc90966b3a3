import type { Config } from "./config.ts";
import type { Administrator } from "./first-administrator.ts";
import { openLog } from "./platform/log.ts";

/** What can be started apart from each other, any number of times. */
export const roleNames = ["http", "projections", "workers"] as const;
export type RoleName = (typeof roleNames)[number];

type Running = Readonly<{ close: () => Promise<void> }>;

export type RunningRoles = Running &
  Readonly<{
    /** Of the role http. */
    url?: string;
    administrator?: Administrator;
  }>;

/** Everything a role works with, one of each a process. */
export type Platform = Awaited<ReturnType<typeof openPlatform>>;

/**
 * Opens the connections to the stores and brings the tables up to date. Modules are loaded here and not
 * above, each as soon as it is needed, because loading them is most of a start.
 *
 * @param name of the process in the logs and in the database's list of sessions.
 */
export async function openPlatform(config: Config, name: string) {
  const log = openLog(config.logLevel, name);
  const [postgres, migration, eventStore, vaults, git, queue] = await Promise.all([
    import("./platform/postgres.ts"),
    import("./platform/migrate.ts"),
    import("./platform/eventstoredb.ts"),
    import("./platform/vault.ts"),
    import("./platform/git/repositories.ts"),
    import("./platform/queue.ts"),
  ]);
  const { databaseUrl, redisUrl, dataDir } = config;
  const db = postgres.openPostgres(databaseUrl, { applicationName: `ledgerforge ${name}` });
  await migration.migrate(db);
  const queues = await queue.openQueues({ databaseUrl, redisUrl, log });
  const store = eventStore.openEventStore(config.eventStoreUrl);
  const repositories = git.openGit({ dataDir, log });
  return {
    config,
    log,
    db,
    store,
    queues,
    git: repositories,
    vault: vaults.openVault(db, config.secretKey),
    async close() {
      await repositories.close();
      await queues.close();
      await store.close();
      await db.destroy();
    },
  };
}

/** Runs roles in this process until closed. */
export async function startRoles(
  config: Config,
  names: readonly RoleName[],
): Promise<RunningRoles> {
  const platform = await openPlatform(config, names.join(" "));
  const running: Running[] = [platform];
  const close = async (): Promise<void> => {
    for (const part of running.toReversed()) await part.close();
    platform.log.info("closed");
  };
  try {
    if (names.includes("projections")) {
      const { startProjections } = await import("./projections/role.ts");
      running.push(await startProjections(platform));
    }
    if (names.includes("workers")) {
      const { startWorkers } = await import("./workers/role.ts");
      running.push(await startWorkers(platform));
    }
    const answering = names.includes("http") ? await startAnswering(platform, running) : {};
    platform.log.info("ready");
    return { ...answering, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function startAnswering(platform: Platform, running: Running[]) {
  const [{ firstAdministrator }, { startHttp }] = await Promise.all([
    import("./first-administrator.ts"),
    import("./http/role.ts"),
  ]);
  const administrator = await firstAdministrator(platform.config, platform);
  const http = await startHttp(platform);
  running.push(http);
  return { url: http.url, administrator };
}
