import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { request } from "node:http";
import path from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

import { git } from "../test/support/git/git.ts";
import { must } from "./must.ts";
import { resetPeak, watchMemory } from "./peak.ts";
import { type BenchService, withService } from "./service.ts";

/**
 * The most memory that processes of the service and programs of git under them held while something
 * large passed through, each beside the size of what passed. Of git without the packs it has mapped. On Linux alone: proc(5).
 */
const MiB = 1024 ** 2;
const packMebibytes = Number(process.env["PACK_MEBIBYTES"] ?? 1024);
const blobMebibytes = 200;
const objectMebibytes = Number(process.env["OBJECT_MEBIBYTES"] ?? 1024);

await withService(async (bench) => {
  const { directory, service, project, ssh, basic, authorization } = bench;
  const remote = await project("pack");
  const source = await imported(directory, "source.git", packMebibytes / 16, 16);
  const clone = path.join(directory, "clone.git");
  const measured = (name: string, run: () => Promise<unknown>) => measure(bench, name, run);

  await measured(`push of a pack of ${packMebibytes} MiB`, () =>
    must(source, {}, "push", "-q", remote, "main"),
  );
  await measured("clone of it over HTTP", () =>
    must(directory, {}, "clone", "-q", "--bare", remote, clone),
  );
  await measured("clone of it over SSH", () =>
    must(directory, ssh.environment, "clone", "-q", "--bare", ssh.remote("pack"), `${clone}-ssh`),
  );
  const at = `${service.url}/project/bench/pack`;
  await measured("archive of it as zip", () => get(`${at}/archive/main.zip`, authorization));

  const blob = await imported(directory, "blob.git", 1, blobMebibytes);
  const blobRemote = await project("blob");
  await measured(`push of a file of ${blobMebibytes} MiB`, () =>
    must(blob, {}, "push", "-q", blobRemote, "main"),
  );
  const hash = await git(blob, "rev-parse", "main");
  const file = `${service.url}/project/bench/blob/blob/download?commitHash=${hash}&file=part-1.bin`;
  await measured("download of it", () => get(file, authorization));
  await measured("download of its last MiB", () =>
    get(file, authorization, { range: `bytes=-${MiB}` }),
  );

  const bytes = objectMebibytes * MiB;
  const part = randomBytes(MiB);
  const digest = createHash("sha256");
  for (let index = 0; index < objectMebibytes; index += 1) digest.update(part);
  const object = `${at}.git/info/lfs/objects/${digest.digest("hex")}`;
  await measured(`upload of an LFS object of ${objectMebibytes} MiB`, () =>
    put(`${object}/${bytes}`, basic, part, objectMebibytes),
  );
  await measured("download of the object", () => get(object, basic));
});

async function measure(
  { service }: BenchService,
  name: string,
  run: () => Promise<unknown>,
): Promise<void> {
  const pids = await Promise.all(["http", "ssh", "workers"].map((role) => service.pidOf(role)));
  for (const pid of pids) await resetPeak(pid);
  const watch = watchMemory(pids);
  const begun = performance.now();
  await run();
  const seconds = ((performance.now() - begun) / 1_000).toFixed(1);
  const { node, programs } = await watch.stop();
  const peaks = `node ${node.toFixed(0)} MiB   git ${programs.toFixed(0)} MiB`;
  process.stdout.write(`${name.padEnd(38)} ${peaks}   ${seconds} s\n`);
}

function get(
  url: string,
  authorization: string,
  headers: Record<string, string> = {},
): Promise<void> {
  return new Promise((resolve, reject) => {
    request(url, { headers: { authorization, ...headers } }, (response) => {
      if ((response.statusCode ?? 500) >= 300) reject(new Error(`${url}: ${response.statusCode}`));
      response.resume().once("end", resolve);
    })
      .once("error", reject)
      .end();
  });
}

async function put(url: string, authorization: string, part: Buffer, times: number): Promise<void> {
  const headers = { authorization, "content-length": part.length * times };
  const outgoing = request(url, { method: "PUT", headers });
  const answered = once(outgoing, "response");
  await pipeline(
    Readable.from(
      (function* () {
        for (let index = 0; index < times; index += 1) yield part;
      })(),
    ),
    outgoing,
  );
  const [response] = (await answered) as [{ statusCode: number; resume: () => void }];
  response.resume();
  if (response.statusCode !== 200) throw new Error(`${url}: ${response.statusCode}`);
}

/** Files that do not compress, one a commit. */
async function imported(directory: string, name: string, count: number, mebibytes: number) {
  const source = path.join(directory, name);
  await git(directory, "init", "--quiet", "--bare", "--initial-branch=main", source);
  // The client would spend its time on looking for differences that there are none of.
  await git(source, "config", "core.bigFileThreshold", "1m");
  const child = spawn("git", ["fast-import", "--quiet"], {
    cwd: source,
    stdio: ["pipe", "inherit", "inherit"],
  });
  const closed = once(child, "close");
  const commands = (function* () {
    for (let index = 1; index <= count; index += 1) {
      const person = `committer B <bench@example.org> ${1_700_000_000 + index} +0000`;
      yield `commit refs/heads/main\n${person}\ndata 2\nc\n\n`;
      yield `M 100644 inline part-${index}.bin\ndata ${mebibytes * MiB}\n`;
      yield randomBytes(mebibytes * MiB);
      yield "\n";
    }
  })();
  await pipeline(Readable.from(commands), child.stdin);
  const [code] = await closed;
  if (code !== 0) throw new Error(`git fast-import ended with ${code}`);
  return source;
}
