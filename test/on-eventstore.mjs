// Runs the tests of the event store against a real EventStoreDB: the port, the calls that the embedded server has as well,
// the HTTP suite and the table of faults. It needs
//   EVENTSTORE_URL      the address of one node, for these tests alone: its log is written to and emptied
//   EVENTSTORE_NODES    the address of three nodes, optional
//   EVENTSTORE_CONTROL  a command of the operator, optional; it is called with empty, stop, start, freeze or thaw and the
//                       number of a node (1 is the single one, 2 to 4 are the three), and ends once that is done
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import path from "node:path";

const { EVENTSTORE_URL: url, EVENTSTORE_NODES: nodes, EVENTSTORE_CONTROL: control } = process.env;
const [part = "all"] = process.argv.slice(2);

if (!url) {
  process.stderr.write(
    "EVENTSTORE_URL is missing: these tests need a real EventStoreDB, such as that of docker-compose.yml " +
      "(docker compose up eventstore), started for them alone with an empty data directory.\n",
  );
  process.exit(78);
}

/** @param {string} folder @param {RegExp} ending */
const filesIn = (folder, ending) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => ending.test(name))
    .map((name) => path.join(folder, name))
    .sort();

/** What only the embedded server has, or what a test looks into its database for. */
const ofEmbedded = /(?:event-bytes|memory|server|tail|topics|reader)\.test\.ts$/;
const calls = [
  ...filesIn("test/platform/event-store", /\.test\.ts$/),
  ...filesIn("test/embedded/event-store", /\.test\.ts$/).filter((name) => !ofEmbedded.test(name)),
];

let failures = 0;
/** @param {readonly string[]} files @param {string} address */
function mocha(files, address, more = {}) {
  const env = { ...process.env, EVENTSTORE_URL: address, ...more };
  const { status } = spawnSync("npx", ["mocha", "--no-parallel", ...files], {
    stdio: "inherit",
    env,
  });
  if (status !== 0) failures += 1;
}

/** @param {string} what */
const skipped = (what) => process.stdout.write(`skipped ${what}\n`);

/** @param {string} what */
function controlled(what) {
  // The server takes every variable that begins so for an option of its own.
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith("EVENTSTORE_"));
  const env = Object.fromEntries(own);
  const { status } = spawnSync("sh", ["-c", `${control} ${what}`], { stdio: "inherit", env });
  if (status !== 0) throw new Error(`EVENTSTORE_CONTROL failed: ${what}`);
}

if (["all", "calls"].includes(part)) {
  mocha(calls, url);
  if (nodes) mocha(calls, nodes);
  else skipped("the calls on three nodes: EVENTSTORE_NODES is missing");
}
if (["all", "faults"].includes(part)) {
  const faults = ["test/chaos/real-server.faults.ts"];
  if (!control) skipped("the faults: EVENTSTORE_CONTROL is missing");
  else {
    mocha(faults, url, { EVENTSTORE_FAULTS: "1" });
    if (nodes) mocha(faults, nodes, { EVENTSTORE_FAULTS: "2,3,4" });
  }
}
if (["all", "http"].includes(part)) {
  if (!control)
    skipped("the HTTP suite, which needs an empty store: EVENTSTORE_CONTROL is missing");
  else {
    for (const file of filesIn("test/http", /\.test\.ts$/)) {
      controlled("empty 1");
      mocha([file], url);
    }
  }
}
process.exitCode = failures === 0 ? 0 : 1;
