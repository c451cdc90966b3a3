import path from "node:path";
import { parseArgs } from "node:util";
import { type GitRepositories, openGit } from "../git/repositories.ts";
import type { Blobs } from "../platform/blob/blobs.ts";
import { openBlobs } from "../platform/blob/open.ts";
import { isMigrated } from "../platform/migrate.ts";
import { allProjections } from "../projections/all.ts";
import { foreignEvents } from "../projections/audit/foreign-event.ts";
import { checkLog } from "../projections/audit/log-check.ts";
import { findLostKeys } from "../projections/audit/lost-keys.ts";
import { rebuild } from "../projections/core/rebuild.ts";
import { unreadableFiles } from "../projections/package/unreadable.ts";
import { projectionStatuses, uninstalledProjections } from "../projections/status.ts";
import {
  examineBlobs,
  examineContent,
  examineRepositories,
  type Finding,
  type IntegrityCheckOptions,
} from "../services/git/integrity-check.ts";
import { type RefRecorder, refRecorder } from "../services/git/ref-recorder.ts";
import { stalledQueues } from "../services/webhook/outbox.ts";
import { listSetAside } from "../workers/core/set-aside.ts";
import { lostDeliveries, putBack } from "../workers/webhook/lost.ts";
import { repositoriesBelow } from "./backup.ts";
import { orInterrupted } from "./command-end.ts";
import { stopSignal } from "./stop-signal.ts";
import { mustHaveSecretKey, type Stores, withStores } from "./stores.ts";
import { printable, write } from "./write.ts";

const exitFound = 1;
const closeLimitMs = 10_000;
/** Workers look for such lines every minute. */
const stalledMs = 3 * 60_000;

type Options = IntegrityCheckOptions & Readonly<{ readModels: boolean }>;

/**
 * Looks for what does not fit together, while the service goes on: repositories and their refs, blobs,
 * the log, read models, deliveries of webhooks. Exits with 1 when something is left that was not repaired.
 */
export async function run(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      repair: { type: "boolean", default: false },
      "read-models": { type: "boolean", default: false },
    },
  });
  const { signal } = stopSignal(closeLimitMs);
  const { repair, "read-models": readModels } = values;
  const options: Options = { repair, readModels, signal, onProgress };
  return withStores("doctor", (stores) => examine(stores, options), { opens: false }).catch(
    orInterrupted(signal, "Interrupted."),
  );
}

async function examine(stores: Stores, options: Options): Promise<number> {
  const { config, db, store, log } = stores;
  const { dataDir, blobUrl } = config;
  const git = openGit({ dataDir, log });
  const blobs = await openBlobs({ dataDir, blobUrl }, db);
  const refs = refRecorder({ store, db, git, now: () => new Date(), log });
  let [found, left] = [0, 0];
  try {
    for await (const finding of findings({ ...stores, git, blobs, refs }, options)) {
      const { subject, problem, repaired } = finding;
      found += 1;
      if (!repaired) left += 1;
      clear();
      const line = printable(`${subject}: ${problem}`);
      write(process.stdout, `${line}${repaired ? "; repaired" : ""}\n`);
    }
  } finally {
    clear();
    blobs.close();
    await git.close();
  }
  const repaired = found === left ? "" : `, ${found - left} of them repaired`;
  write(process.stdout, found === 0 ? "Everything fits.\n" : `${found} found${repaired}.\n`);
  return left === 0 ? 0 : exitFound;
}

type Deps = Stores &
  Readonly<{
    git: GitRepositories;
    blobs: Pick<Blobs, "read" | "list">;
    refs: Pick<RefRecorder, "reconcile">;
  }>;

async function* findings(deps: Deps, options: Options): AsyncGenerator<Finding> {
  const { db } = deps;
  if (!(await isMigrated(db))) {
    const todo = "start the service on it";
    const unchecked = [...unbuilt(options), "sealed texts of the log", "events set aside"];
    const problem = `it lacks tables of this release: ${todo}; not checked: ${unchecked.join(", ")}`;
    yield { subject: "database", problem, repaired: false };
    return yield* examineFiles(deps, options);
  }
  await mustHaveSecretKey(deps);
  const missing = await uninstalledProjections(db);
  if (missing.length > 0) {
    yield notBuilt(missing, options);
    yield* examineFiles(deps, options);
  } else {
    yield* examineRepositories(deps, options);
    yield* examineBlobs(deps, options);
    yield* examineLog(deps, options);
    yield* examineLostDeliveries(deps, options);
    yield* examinePackages(deps);
  }
  yield* examineReactors(deps);
  yield* examineKeys(deps, options);
}

/** What read models are needed for. */
function unbuilt({ readModels }: Options): readonly string[] {
  return [
    "refs and LFS files of repositories",
    "files that something refers to",
    "changes of the log",
    "pending deliveries of webhooks",
    "packages that clients cannot parse",
    ...(readModels ? ["rows of the read models"] : []),
  ];
}

function notBuilt(missing: readonly string[], options: Options): Finding {
  const which =
    missing.length === allProjections.length
      ? "none is built yet"
      : `${missing.length} are not built yet (${missing.join(", ")})`;
  const todo = "start the service or run ledgerforge rebuild";
  const problem = `${which}: ${todo}; not checked: ${unbuilt(options).join(", ")}`;
  return { subject: "read models", problem, repaired: false };
}

function examineFiles(deps: Deps, options: Options): AsyncGenerator<Finding> {
  return examineContent(deps, storedProjects(deps.config.dataDir), options);
}

/** Ids of projects that have a repository. */
async function* storedProjects(dataDir: string): AsyncGenerator<string> {
  for await (const name of repositoriesBelow(path.join(dataDir, "repositories"))) {
    yield path.basename(name, ".git");
  }
}

/** Subjects with sealed texts in the log that no key opens. */
async function* examineKeys(
  stores: Stores,
  { signal, onProgress: progress }: Options,
): AsyncGenerator<Finding> {
  progress?.("the keys of the log");
  const { secretKey } = stores.config;
  const lost = await findLostKeys({ ...stores, secretKey }, signal);
  const hint = "see ledgerforge events note-lost-keys";
  for (const subject of lost.keyless) {
    yield { subject, problem: `its key is lost; ${hint}`, repaired: false };
  }
  for (const subject of lost.wrappedByOther) {
    yield {
      subject,
      problem: `its key was wrapped by another SECRET_KEY; ${hint}`,
      repaired: false,
    };
  }
  for (const subject of lost.replaced) {
    const problem = `what was sealed for it was altered, or its former key is lost; ${hint}`;
    yield { subject, problem, repaired: false };
  }
}

/** Deliveries of webhooks that nothing will send. */
async function* examineLostDeliveries(
  { db, store }: Stores,
  { repair, onProgress: progress }: Options,
): AsyncGenerator<Finding> {
  progress?.("deliveries of webhooks");
  const lost = await lostDeliveries({ db, store });
  if (repair) await putBack(db, lost, new Date());
  for (const { deliveryId, webhookId } of lost) {
    const hint = repair ? "" : ": workers put it back within a minute";
    const problem = `delivery ${deliveryId} is pending and not in line${hint}`;
    yield { subject: `webhook ${webhookId}`, problem, repaired: repair };
  }
}

/** What older releases took, and clients of packages would stop at. */
async function* examinePackages({ db }: Stores): AsyncGenerator<Finding> {
  for (const { registry_id, type, name, ...of } of await unreadableFiles(db)) {
    const problem = `${name} is left out of the indexes of the repository, since clients cannot parse it: ${of.unreadable} Delete the version, or store the file again without the fault`;
    const subject = `package ${type} ${of.package} ${of.version} in repository ${registry_id}`;
    yield { subject, problem, repaired: false };
  }
}

/** Events that reactors gave up, and lines of webhooks in which nothing moves. */
async function* examineReactors({ db }: Stores): AsyncGenerator<Finding> {
  for (const { reactor, event_id, type, reason } of await listSetAside(db)) {
    const problem = `set aside ${type} ${event_id}: ${reason}; see ledgerforge set-aside`;
    yield { subject: `reactor ${reactor}`, problem, repaired: false };
  }
  const stalled = await stalledQueues(db, new Date(Date.now() - stalledMs));
  for (const { webhookId, dueAt, waiting } of stalled) {
    const problem = `its line has stood still since ${dueAt.toISOString()}, ${waiting} deliveries wait`;
    yield { subject: `webhook ${webhookId}`, problem, repaired: false };
  }
}

/** The tree over the log, how far the read models are, and, on request, every row of them. */
async function* examineLog(stores: Stores, options: Options): AsyncGenerator<Finding> {
  const { db, store } = stores;
  const { signal, onProgress: progress } = options;
  progress?.("the log");
  const check = await checkLog({ db, store }, { signal });
  if (!check.equal) {
    const problem = `changed after it was written: ${check.first}`;
    yield { subject: "log", problem, repaired: false };
  }
  const foreign = await foreignEvents(db);
  if (foreign !== undefined) {
    clear();
    const { events, first_position, first_type, first_stream } = foreign;
    const text = `log: holds ${events} events of other applications, which are left out; the first is ${first_type} at ${first_position} in ${first_stream}`;
    write(process.stdout, `${printable(text)}\n`);
  }
  for (const { name, state, lagPositions } of await projectionStatuses(db, store, new Date())) {
    if (state === "live") continue;
    const problem = `it is ${state}, ${lagPositions} events behind`;
    yield { subject: `read model ${name}`, problem, repaired: false };
  }
  if (options.readModels) yield* compareReadModels(stores, options);
}

async function* compareReadModels(
  { config, db, store, vault, log }: Stores,
  { repair, signal, onProgress: progress }: Options,
): AsyncGenerator<Finding> {
  progress?.("the read models");
  const { databaseUrl } = config;
  const projections = allProjections;
  const deps = { databaseUrl, db, store, projections, context: { open: vault.open }, log };
  const rebuilt = await rebuild(deps, projections, { signal, verify: true, keep: !repair });
  if (rebuilt === undefined) {
    const problem = "not compared: a rebuild is running";
    return yield { subject: "read models", problem, repaired: false };
  }
  for (const { table, equal, rowsBefore, rowsAfter } of rebuilt.comparisons) {
    if (equal) continue;
    const problem = `its rows are not those the log gives: ${rowsBefore} here, ${rowsAfter} there`;
    yield { subject: `read model table ${table}`, problem, repaired: repair };
  }
}

function onProgress(what: string): void {
  if (process.stderr.isTTY) write(process.stderr, `\r\x1b[K${what}`);
}

function clear(): void {
  if (process.stderr.isTTY) write(process.stderr, "\r\x1b[K");
}
