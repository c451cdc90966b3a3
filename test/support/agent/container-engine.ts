import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, copyFile, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import path from "node:path";

import { openEngine } from "../../../src/agent/container-engine.ts";
import { temporaryDirectory } from "../git/git.ts";
import { isInstalled, programPath, skipFor } from "../process/program.ts";

/** Its programs are links to it: an image needs nothing else. */
const busybox = "/bin/busybox";
const links = [
  "cat",
  "chown",
  "chmod",
  "env",
  "false",
  "grep",
  "id",
  "ls",
  "mkdir",
  "nc",
  "sh",
  "sleep",
  "true",
];

/** `ldd` fails in the same way for a program that is static and for one that is not there. */
const isStatic = existsSync(busybox) && spawnSync("ldd", [busybox]).status === 1;
/** Why no images can be made. */
export const missingForImages = isStatic ? [] : [`${busybox} is missing, or not static`];

/**
 * Lets podman run where its defaults need more than tests may have: as root of a machine without the right to raise
 * limits, beside other containers of that machine.
 */
async function configurePodman(): Promise<void> {
  const home = await temporaryDirectory();
  const at = (name: string): string => path.join(home, name);
  const runtime = ["runc", "crun"].find(isInstalled) ?? "crun";
  await writeFile(
    at("containers.conf"),
    `[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\n[engine]\nruntime = "${runtime}"\nevents_logger = "none"\ncgroup_manager = "cgroupfs"\n`,
  );
  await writeFile(
    at("storage.conf"),
    `[storage]\ndriver = "overlay"\ngraphroot = "${at("storage")}"\nrunroot = "${at("run")}"\n`,
  );
  await writeFile(at("registries.conf"), '[[registry]]\nlocation = "127.0.0.1"\ninsecure = true\n');
  const settings = {
    CONTAINERS_CONF: at("containers.conf"),
    CONTAINERS_STORAGE_CONF: at("storage.conf"),
    CONTAINERS_REGISTRIES_CONF: at("registries.conf"),
  };
  const configure = (): void => void Object.assign(process.env, settings);
  configure();
  // Where all files are loaded before the first one runs, the last one has set these.
  before(configure);
}

/** The directory that the images are made of. */
async function root(): Promise<string> {
  const home = await temporaryDirectory();
  const at = (...names: readonly string[]): string => path.join(home, ...names);
  for (const name of ["bin", "etc", "tmp"]) await mkdir(at(name));
  // Of the root as well: users of images enter it.
  await chmod(home, 0o755);
  await chmod(at("tmp"), 0o1777);
  await copyFile(busybox, at("bin", "busybox"));
  for (const name of links) await symlink("busybox", at("bin", name));
  const passwd = "root:x:0:0:root:/root:/bin/sh\ndev:x:1234:1234:dev:/tmp:/bin/sh\n";
  await writeFile(at("etc", "passwd"), passwd);
  await writeFile(at("bin", "answer"), '#!/bin/sh\necho "$GREETING of $NAME"\n', { mode: 0o755 });
  return home;
}

const images = {
  plain: [],
  nobody: ["USER dev"],
  deaf: ['ENTRYPOINT ["/bin/true"]'],
  greeting: ["EXPOSE 80/tcp", 'CMD ["sh", "-c", "sleep 1; exec nc -ll -p 80 -e /bin/answer"]'],
} as const;

export type ImageName = keyof typeof images;

export type TestEngine = Readonly<{
  image: (name: ImageName) => string;
  /** Runs a command of the engine. @returns its output */
  call: (...args: readonly string[]) => Promise<string>;
}>;

/** The engine that agents find on this machine, with images; undefined, and the file is skipped, where none works. */
export async function testEngine(): Promise<TestEngine | undefined> {
  const found = await find();
  if (typeof found !== "string") return found;
  skipFor([found]);
  return undefined;
}

/** @returns what is missing or fails, where none works */
async function find(): Promise<TestEngine | string> {
  const [missing] = missingForImages;
  if (missing !== undefined) return missing;
  if (!isInstalled("docker") && !isInstalled("podman")) return "docker or podman is not installed";
  const ends: (() => Promise<unknown>)[] = [];
  // Before the hooks that remove its directories.
  after(() => Promise.all(ends.map((end) => end())));
  await configurePodman();
  const engine = await openEngine().catch((error: unknown) => lineOf(String(error)));
  if (typeof engine === "string") return engine;
  const run = process.pid;
  const image = (name: ImageName): string => `localhost/ledgerforge-test/${name}:${run}`;
  const call = async (...args: readonly string[]): Promise<string> => {
    const { code, output, problem } = await engine.call(args);
    if (code === 0) return output;
    throw new Error(`${args.join(" ")}: ${problem}`);
  };
  const archive = path.join(await temporaryDirectory(), "root.tar");
  const env = { PATH: programPath };
  spawnSync("tar", ["-C", await root(), "-cf", archive, "."], { env });
  for (const [name, changes] of Object.entries(images)) {
    const change = changes.flatMap((each) => ["--change", each]);
    await call("import", ...change, archive, image(name as ImageName));
  }
  await rm(archive);
  const all = Object.keys(images).map((name) => image(name as ImageName));
  ends.push(() => call("rmi", "--force", ...all));
  const works = await engine.call(["run", "--rm", image("plain"), "true"]);
  if (works.code === 0) return { image, call };
  return `${engine.program} runs no container here: ${lineOf(works.problem)}`;
}

const lineLengthMax = 300;

/** What a program says of its failure, in one line. */
const lineOf = (text: string): string =>
  text.trim().replaceAll(/\s+/g, " ").slice(0, lineLengthMax);
