// Runs the tests that use a database, an event store or queues on PostgreSQL and Redis as Debian has them, each started
// for this in a temporary directory: every fourth file, another quarter for each commit, or all of them with `--all`.
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";

const folders = ["platform", "projections", "workers", "commands"].map((name) => `test/${name}`);
const helpers = ["database", "redis"].map((name) => path.resolve(`test/support/store/${name}.ts`));
const imports = new Map();

/** Whether the file imports the helpers of stores, directly or through other helpers. */
function usesServers(file) {
  const reached = new Set([file]);
  // What is added while it is walked is walked as well.
  for (const each of reached) {
    if (!imports.has(each)) imports.set(each, importsOf(each));
    for (const next of imports.get(each)) reached.add(next);
  }
  return helpers.some((helper) => reached.has(helper));
}

function importsOf(file) {
  const names = readFileSync(file, "utf8").matchAll(/from "(\.[^"]+)"|import\("(\.[^"]+)"\)/g);
  const files = [...names].map(([, one, other]) => path.resolve(path.dirname(file), one ?? other));
  return files.filter((each) => each.startsWith(path.resolve("test")) && each.endsWith(".ts"));
}

/** @param {string} folder */
const testsIn = (folder) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.(?:test|system)\.ts$/.test(name))
    .map((name) => path.join(folder, name))
    .filter((file) => usesServers(path.resolve(file)));

function chosen() {
  const files = folders.flatMap(testsIn).sort();
  if (process.argv.includes("--all")) return files;
  const commit = execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" });
  const first = Number.parseInt(commit.slice(0, 6), 16) % 4;
  return files.filter((_, index) => index % 4 === first);
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const postgresBin = (existsSync("/usr/lib/postgresql") ? readdirSync("/usr/lib/postgresql") : [])
  .map((version) => path.join("/usr/lib/postgresql", version, "bin"))
  .filter((directory) => existsSync(path.join(directory, "postgres")))
  .at(-1);

/** PostgreSQL refuses root: it runs as the user that its package made. */
const asPostgres = ["--reuid=postgres", "--regid=postgres", "--clear-groups"];

async function startPostgres(directory, port) {
  const data = path.join(directory, "data");
  const run = (program, ...args) => [...asPostgres, path.join(postgresBin, program), ...args];
  execFileSync("setpriv", run("initdb", "-D", data, "-A", "trust", "-E", "UTF8", "--locale=C"), {
    stdio: "ignore",
  });
  const settings = ["listen_addresses=127.0.0.1", "max_connections=1000", "fsync=off"];
  const options = settings.flatMap((setting) => ["-c", setting]);
  const args = run("postgres", "-D", data, "-p", String(port), "-k", directory, ...options);
  const child = spawn("setpriv", args, { stdio: "ignore" });
  const ready = run("pg_isready", "-q", "-h", "127.0.0.1", "-p", String(port));
  for (let tries = 0; spawnSync("setpriv", ready).status !== 0; tries += 1) {
    if (tries === 100) throw new Error("PostgreSQL does not get ready");
    await delay(100);
  }
  return child;
}

async function run() {
  const directory = mkdtempSync(path.join(tmpdir(), "ledgerforge-servers-"));
  const children = [];
  try {
    const { uid, gid } = userOf("postgres");
    chownSync(directory, uid, gid);
    const [databasePort, redisPort] = [await freePort(), await freePort()];
    children.push(await startPostgres(directory, databasePort));
    const redis = ["--port", String(redisPort), "--bind", "127.0.0.1", "--save", ""];
    children.push(spawn("redis-server", redis, { stdio: "ignore" }));
    const environment = {
      DATABASE_URL: `postgres://postgres@127.0.0.1:${databasePort}/postgres`,
      REDIS_URL: `redis://127.0.0.1:${redisPort}`,
    };
    return spawnSync("npx", ["mocha", ...chosen()], {
      stdio: "inherit",
      env: { ...process.env, ...environment },
    }).status;
  } finally {
    for (const child of children) {
      child.kill("SIGINT");
      await new Promise((resolve) => child.once("exit", resolve));
    }
    rmSync(directory, { recursive: true, force: true });
  }
}

function userOf(name) {
  const [, , uid, gid] = execFileSync("getent", ["passwd", name], { encoding: "utf8" }).split(":");
  return { uid: Number(uid), gid: Number(gid) };
}

function missing() {
  const hasRedis = spawnSync("redis-server", ["--version"]).status === 0;
  return [
    ...(process.getuid?.() === 0 ? [] : ["root"]),
    ...(postgresBin === undefined ? ["Debian's PostgreSQL"] : []),
    ...(hasRedis ? [] : ["redis-server"]),
  ];
}

const lacking = missing();
if (lacking.length > 0) {
  process.stdout.write(`skipped the tests on servers: ${lacking.join(", ")} is missing\n`);
} else {
  process.exitCode = (await run()) ?? 1;
}
