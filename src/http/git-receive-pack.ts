import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { PassThrough, type Readable } from "node:stream";
import type { Context } from "koa";
import type { Logger } from "pino";

import type { EventMetadata } from "../events/event.ts";
import { userSubject } from "../events/user.ts";
import { pushBytesMax } from "../platform/git/environment.ts";
import type { PackProcess } from "../platform/git/pack-service.ts";
import { PacketMalformed, packet } from "../platform/git/pkt-line.ts";
import { everythingRefused, PushReport, pushRefused } from "../platform/git/push-report.ts";
import { type PushHead, PushMalformed, withoutCommands } from "../platform/git/push-request.ts";
import { Refusal } from "../platform/refusal.ts";
import type { Vault } from "../platform/vault.ts";
import type { Push } from "../workers/push-intent.ts";
import type { RefRecorder } from "../workers/ref-recorder.ts";
import type { Caller, ResolvedProject } from "./gate.ts";
import { type PushProtection, protectedFrom } from "./git-protection.ts";
import { readPushHead, requestBody } from "./git-stream.ts";
import { peerOf } from "./peer.ts";
import { stateOf } from "./state.ts";

export type PushDeps = PushProtection &
  Readonly<{
    refs: RefRecorder;
    vault: Pick<Vault, "seal">;
    now: () => Date;
    log: Logger;
    visible: (position: bigint | undefined) => Promise<void>;
  }>;

export type ReceivePack = ResolvedProject &
  Readonly<{
    /** Starts git, once it is known what it may do. */
    start: (options: Readonly<{ denyForced: boolean }>) => PackProcess;
    stop: () => void;
    caller: Caller;
  }>;

/**
 * Takes a push in. The order is what makes it safe: the intent is durable before git hears of the
 * commands; git changes refs; events are appended and visible; only then the client is told.
 */
export async function receivePack(
  ctx: Context,
  received: ReceivePack,
  deps: PushDeps,
): Promise<void> {
  // A little more than git's own limit on the pack, so that git's message is the one that is seen.
  const body = requestBody(ctx, pushBytesMax + 64 * 1024 ** 2);
  ctx.type = "application/x-git-receive-pack-result";

  let head: PushHead;
  let bytes: Buffer;
  try {
    ({ head, bytes } = await readPushHead(body));
  } catch (error) {
    if (!(error instanceof PushMalformed) && !(error instanceof PacketMalformed)) throw error;
    // A client still sending its pack would not see the answer.
    if (!body.readableEnded) await once(body.resume(), "end").catch(() => undefined);
    ctx.body = pushRefused(error.message, error instanceof PushMalformed && error.sideBand);
    return;
  }

  const { refused, denyForced } = await protectedFrom(received, head, deps);
  const sideBand = head.capabilities.has("side-band-64k");
  const asked = head.commands.filter(({ ref }) => !refused.has(ref));
  if (asked.length === 0 && refused.size > 0) {
    if (!body.readableEnded) await once(body.resume(), "end").catch(() => undefined);
    ctx.body = everythingRefused(refused, sideBand);
    return;
  }
  const push = await pushOf(ctx, received, asked, deps);
  if (push.refs.length > 0) await deps.refs.begin(push);
  const commands = refused.size === 0 ? bytes : withoutCommands(bytes, (ref) => refused.has(ref));
  const child = received.start({ denyForced });
  const answer = new PassThrough();
  ctx.body = answer;
  const underway = { ctx, received, child, push, body, commands, refused, sideBand, answer };
  void carryOut(underway, deps);
}

type Underway = Readonly<{
  ctx: Context;
  received: ReceivePack;
  child: PackProcess;
  push: Push;
  body: Readable;
  /** What git is told to do. */
  commands: Buffer;
  refused: ReadonlyMap<string, string>;
  sideBand: boolean;
  answer: PassThrough;
}>;

/** Runs to its end whether or not the client is still there: what git did has to be recorded. */
async function carryOut(underway: Underway, deps: PushDeps): Promise<void> {
  const { ctx, push, sideBand, answer } = underway;
  const { requestId } = stateOf(ctx);
  try {
    const report = await runGit(underway, deps.log);
    const recorded = push.refs.length === 0 ? [] : await record(push, report, deps);
    if (sideBand) for (const line of recorded) answer.write(remark(line));
    answer.end(report.rest(underway.refused));
  } catch (error) {
    underway.received.stop();
    // Not acknowledged: the client sees a broken connection, and the intent is there for healing.
    deps.log.error({ err: error, requestId, projectId: push.projectId }, "push not recorded");
    answer.destroy(error instanceof Error ? error : new Error(String(error)));
  }
}

async function runGit(underway: Underway, log: Logger): Promise<PushReport> {
  const { ctx, received, child, body, commands, sideBand, answer } = underway;
  const { stop } = received;
  const report = new PushReport(sideBand);
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => {
    const progress = report.push(chunk);
    if (progress.length > 0 && !answer.destroyed) answer.write(progress);
  });
  child.stderr.on("data", (chunk: Buffer) => {
    stderr = (stderr + chunk.toString()).slice(-1000);
  });
  child.stdin.on("error", () => undefined);
  body.once("error", stop);
  // Once all of it is here, git needs nobody any more and finishes in a moment.
  ctx.res.once("close", () => {
    if (!body.readableEnded) stop();
  });

  const closed = once(child, "close");
  child.stdin.write(commands);
  body.pipe(child.stdin);
  const [exitCode] = (await closed) as [number | null];
  // Git may have refused before it read all: the rest is read and dropped, so that it can be told.
  if (!body.readableEnded && !ctx.req.destroyed) body.resume();
  if (exitCode !== 0) {
    const { requestId } = stateOf(ctx);
    log.info({ requestId, exitCode, stderr }, "git receive-pack ended early");
  }
  return report;
}

/** @returns what the pusher should be told beside git's report */
async function record(
  push: Push,
  report: PushReport,
  { refs, visible, log }: PushDeps,
): Promise<readonly string[]> {
  const position = await refs.finish(push, report.made());
  try {
    await visible(position);
    return [];
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    log.warn({ projectId: push.projectId, code: error.code }, "push recorded, not yet visible");
    return ["Your push is recorded; it may take a moment to be seen everywhere."];
  }
}

async function pushOf(
  ctx: Context,
  { caller, project }: ReceivePack,
  commands: PushHead["commands"],
  deps: PushDeps,
): Promise<Push> {
  const pushId = randomUUID();
  const { userId, actor } = caller;
  const metadata: EventMetadata = {
    actor,
    ip: userId === null ? null : await deps.vault.seal(userSubject(userId), peerOf(ctx)),
    correlationId: stateOf(ctx).requestId,
    causationId: null,
    commandId: pushId,
    schemaVersion: 1,
    occurredAt: deps.now().toISOString(),
  };
  // Deleting what is not there asks for nothing.
  const refs = commands.filter(({ before, after }) => before !== after);
  return { pushId, projectId: project.id, metadata, refs };
}

/** A line that the client prints after `remote:`. */
function remark(line: string): Buffer {
  const progressBand = Buffer.from([2]);
  return packet(Buffer.concat([progressBand, Buffer.from(`${line}\n`)]));
}
