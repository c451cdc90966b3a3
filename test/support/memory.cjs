// Lets temporary files of a run be in memory where there is room: most tests work on repositories and data
// directories of their own, and on a disk each of their files is work for the file system and its journal.
const { chmodSync, mkdtempSync, readdirSync, rmSync, statfsSync, statSync } = require("node:fs");
const path = require("node:path");

// Short, as sockets have paths below it.
const prefix = "lf-tests-";
/** Of a file system in memory, as Linux has one. */
const memory = { directory: "/dev/shm", type: 0x0102_1994, bytesMin: 4 * 1024 ** 3 };
/** No run takes that long. */
const leftoverMs = 24 * 3_600_000;

/** Called in the process that ends last: the directory goes with it. */
exports.temporaryFilesInMemory = () => {
  if (!isRoomy()) return;
  removeLeftovers();
  const directory = mkdtempSync(path.join(memory.directory, prefix));
  // PostgreSQL passes through as another user where root has no user namespaces.
  chmodSync(directory, 0o711);
  process.env.TMPDIR = directory;
  const removal = { recursive: true, force: true, maxRetries: 20, retryDelay: 100 };
  process.once("exit", () => rmSync(directory, removal));
  // As when a run takes too long: a process that a signal ends has no exit event.
  process.once("SIGTERM", () => process.exit(128 + 15));
};

function isRoomy() {
  try {
    const { type, bavail, bsize } = statfsSync(memory.directory);
    return type === memory.type && bavail * bsize >= memory.bytesMin;
  } catch {
    return false;
  }
}

/** What a run left that was cut off takes memory until the next start of the machine; another user's stays. */
function removeLeftovers() {
  for (const name of readdirSync(memory.directory).filter((each) => each.startsWith(prefix))) {
    const leftover = path.join(memory.directory, name);
    const found = statSync(leftover, { throwIfNoEntry: false });
    if (found === undefined || Date.now() - found.mtimeMs < leftoverMs) continue;
    try {
      rmSync(leftover, { recursive: true, force: true });
    } catch {}
  }
}
