import { spawn } from "node:child_process";
import { type Readable, Transform } from "node:stream";
import { gitEnvironment } from "./environment.ts";
import { GitFailure } from "./failure.ts";
import { lastText } from "./last-text.ts";
import { archiveLimit, withinMemory } from "./memory-limit.ts";
import { yieldProcessor } from "./priority.ts";

export const archiveFormats = ["zip", "tar.gz"] as const;
export type ArchiveFormat = (typeof archiveFormats)[number];

export type ArchiveOptions = Readonly<{
  format: ArchiveFormat;
  /** Directory that everything lies in; no slash at its end. */
  directory: string;
  limits?: Partial<ArchiveLimits>;
}>;

export type ArchiveLimits = Readonly<{ idleMs: number; totalMs: number }>;

/** A reader that takes nothing for this time counts as disconnected; no archive takes longer in all. */
const limitsDefault: ArchiveLimits = { idleMs: 2 * 60_000, totalMs: 60 * 60_000 };

/**
 * The files of a commit as git-archive(1) packs them, made while they are read: `export-ignore` and
 * the like in `.gitattributes` hold, symbolic links stay links, modes stay. Closing the stream ends
 * git; git ending badly ends the stream with an error, so that half an archive is never taken for
 * one.
 */
export function archiveStream(
  { gitDir }: Readonly<{ gitDir: string }>,
  commitId: string,
  { format, directory, limits }: ArchiveOptions,
): Readable {
  const { idleMs, totalMs } = { ...limitsDefault, ...limits };
  const args = ["archive", `--format=${format}`, `--prefix=${directory}/`, "--end-of-options"];
  const [program, all] = withinMemory([`--git-dir=${gitDir}`, ...args, commitId]);
  const child = spawn(program, all, {
    cwd: "/",
    env: gitEnvironment(archiveLimit),
    stdio: ["ignore", "pipe", "pipe"],
    timeout: totalMs,
    killSignal: "SIGKILL",
  });
  yieldProcessor(child);
  const stderr = lastText(child.stderr);
  const ended = new Promise<Error | null>((resolve) => {
    child.once("error", resolve);
    child.once("close", (code) =>
      resolve(code === 0 ? null : new GitFailure("archive", code, stderr())),
    );
  });
  const idle = setTimeout(() => out.destroy(new Error("the archive is not being read")), idleMs);
  const out = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      idle.refresh();
      done(null, chunk);
    },
    flush(done) {
      void ended.then(done);
    },
  });
  out.once("close", () => {
    clearTimeout(idle);
    child.kill("SIGKILL");
  });
  child.stdout.pipe(out);
  return out;
}
