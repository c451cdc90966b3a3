import { once } from "node:events";
import { PassThrough } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type PackProcess, stopPackService } from "../git/pack-service.ts";
import type { GitAccess, GitCaller } from "../services/git/caller.ts";
import { carryOut, preparePush } from "../services/git/push.ts";
import type { ChannelStream } from "./channel-stream.ts";
import { exitOf } from "./exit.ts";
import type { SshService } from "./service.ts";

export type PushSession = Readonly<{
  line: ChannelStream;
  requestId: string;
  protocol: string | undefined;
  ip: string;
  access: GitAccess;
  caller: GitCaller;
  /** Waits for a free slot. @returns what frees it again */
  enter: () => Promise<() => void>;
}>;

/**
 * Runs a push as over HTTP, with two processes of git: the first advertises the refs, the second receives
 * the pack and reports. Between them the push is checked and its intent is stored.
 *
 * @returns the exit code for the client
 */
export async function push(session: PushSession, service: SshService): Promise<number> {
  const slot = { free: (): void => undefined };
  const enter = async (): Promise<void> => {
    slot.free = await session.enter();
  };
  try {
    return await advertiseAndReceive(session, service, enter);
  } finally {
    slot.free();
  }
}

async function advertiseAndReceive(
  session: PushSession,
  service: SshService,
  enter: () => Promise<void>,
): Promise<number> {
  const { line, requestId, protocol, ip, access, caller } = session;
  const { project } = access;
  const repository = await service.git.ensure(project.id, project.default_branch);
  const advertising = repository.start("receive-pack", { advertise: true, protocol });
  advertising.stdin.end();
  advertising.stderr.resume();
  const exited = exitOf(advertising);
  const sent = pipeline(advertising.stdout, line.output, { end: false }).catch(() =>
    stopPackService(advertising),
  );
  const [code] = await Promise.all([exited, sent]);
  if (code !== 0 || line.disconnected.aborted) return 1;

  const pusher = { ...access, caller, ip, requestId };
  const prepared = await preparePush(line.input, pusher, service, enter);
  if (Buffer.isBuffer(prepared)) {
    line.output.end(prepared);
    await ended(line);
    return 0;
  }
  const { denyForced, together, gate, inputBytesMax } = prepared;
  const child: PackProcess = repository.start("receive-pack", {
    advertise: false,
    protocol,
    denyForced,
    together,
    gate,
    inputBytesMax,
  });
  const stop = (): void => stopPackService(child);
  const answer = new PassThrough();
  const answered = pipeline(answer, line.output).catch(() => undefined);
  const { input: body } = line;
  const done = await carryOut({ ...prepared, child, stop, body, answer, requestId }, service);
  await answered;
  if (done === undefined) return 1;
  if (done.exitCode !== 0) await ended(line);
  return done.exitCode ?? 1;
}

/** A client still sending its pack would not see the answer. */
async function ended({ input, disconnected }: ChannelStream): Promise<void> {
  if (disconnected.aborted || input.readableEnded) return;
  input.resume();
  await once(input, "end", { signal: disconnected }).catch(() => undefined);
}
