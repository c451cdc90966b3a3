import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import type { Logger } from "pino";

import { requestedBy } from "../../commands/core/requested.ts";
import type { EventMetadata, PushWishes } from "../../events/core/event.ts";
import { projectSubject } from "../../events/project/project.ts";
import { removeDeadLocks } from "../../git/bytes.ts";
import { pushBytesMax } from "../../git/environment.ts";
import { lastText } from "../../git/last-text.ts";
import type { PackProcess } from "../../git/pack-service.ts";
import { PacketMalformed, packet } from "../../git/pkt-line.ts";
import type { PushGate } from "../../git/push/gate.ts";
import { everythingRefused, PushReport, pushRefused } from "../../git/push/report.ts";
import { type PushHead, PushMalformed, withoutCommands } from "../../git/push/request.ts";
import type { GitRepositories } from "../../git/repositories.ts";
import { StoreUnavailable } from "../../platform/event-store/event-store.ts";
import type { Vault } from "../../platform/key/vault.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { GitAccess, GitCaller } from "./caller.ts";
import { type Locking, lockGate } from "./lock-gate.ts";
import { type PushProtection, protectedFrom } from "./protection.ts";
import type { Push } from "./push-intent.ts";
import { offersFor } from "./push-offer.ts";
import { optionRemarks, optionsFor, type PushOptions, readPushOptions } from "./push-option.ts";
import { takenBefore } from "./push-repeated.ts";
import { type PushFront, readPushHead } from "./push-stream.ts";
import type { RefRecorder } from "./ref-recorder.ts";

export type PushDeps = PushProtection &
  Readonly<{
    locking: Locking;
    /** What the pusher is in the project by now; undefined when they may not push any more. */
    accessNow: (pusher: Pick<Pusher, "project" | "caller">) => Promise<GitAccess | undefined>;
    refs: RefRecorder;
    git: Pick<GitRepositories, "canSync" | "find">;
    vault: Pick<Vault, "seal">;
    now: () => Date;
    log: Logger;
    visible: (position: bigint | undefined) => Promise<void>;
    /** Bytes that may still come into the project's repository. */
    bytesLeft: (project: GitAccess["project"]) => Promise<number>;
    /** Address that HTTP clients know us by, without a slash at the end. */
    publicUrl: string;
  }>;

/** Who pushes, where to, and what everything that comes of it is found by. */
export type Pusher = GitAccess & Readonly<{ caller: GitCaller; ip: string; requestId: string }>;

export type PreparedPush = Readonly<{
  push: Push;
  /** The commands for git. */
  commands: Buffer;
  refused: ReadonlyMap<string, string>;
  denyForced: boolean;
  /** What `Push` says. */
  together: boolean;
  /** The client wants all refs changed or none. */
  atomic: boolean;
  /** Largest pack that git may take in. */
  inputBytesMax: number;
  /** Has to agree before git changes refs. */
  gate: PushGate;
  sideBand: boolean;
  /** Lines for the pusher beside git's report. */
  remarks: readonly string[];
  /** Such lines by ref, for those that git changes. */
  offers: ReadonlyMap<string, string>;
}>;

/**
 * Reads what a push requests and records it. The order makes it safe: the intent is durable before git
 * gets the commands; git changes refs; events are appended and visible; only then the client gets the
 * report.
 *
 * @param body commands and, left in it, the pack
 * @param enter waits for a free slot, once the commands are here and may be carried out
 * @returns bytes to answer when nothing is left for git to do; the rest of the body is not read then
 */
export async function preparePush(
  body: Readable,
  pusher: Pusher,
  deps: PushDeps,
  enter: () => Promise<void>,
): Promise<PreparedPush | Buffer> {
  let front: PushFront;
  try {
    front = await readPushHead(body);
  } catch (error) {
    if (!(error instanceof PushMalformed) && !(error instanceof PacketMalformed)) throw error;
    return pushRefused(error.message, error instanceof PushMalformed && error.sideBand);
  }
  const { head } = front;
  const room = await deps.bytesLeft(pusher.project);
  const { refused, denyForced } = await protectedFrom(pusher, head, { ...deps, room });
  const sideBand = head.capabilities.has("side-band-64k");
  const accepted = head.commands.filter(({ ref }) => !refused.has(ref));
  if (accepted.length === 0 && refused.size > 0) return everythingRefused(refused, sideBand);
  const options = optionsFor(readPushOptions(front.options), accepted);
  await enter();
  const gate = gateOf(pusher, { ...head, commands: accepted }, denyForced, deps);
  const together = onlyMakesMany(accepted) && (await deps.git.canSync());
  const push = { ...(await pushOf(pusher, { commands: accepted, options }, deps)), together };
  const repository = await deps.git.find(pusher.project.id);
  const refs = accepted.map(({ ref }) => ref);
  if (repository !== undefined) await removeDeadLocks(repository.gitDir, refs);
  if (push.refs.length > 0) await deps.refs.begin(push);
  const commands = await commandsFor(front, refused);
  const inputBytesMax = Math.min(room, pushBytesMax);
  const atomic = head.capabilities.has("atomic");
  const remarks = optionRemarks(options);
  const offers =
    options.mergeRequest === null
      ? offersFor(accepted, pusher.project, deps.publicUrl)
      : new Map<string, string>();
  const allowed = { offers, refused, denyForced, gate, inputBytesMax };
  return { push, commands, together, atomic, sideBand, remarks, ...allowed };
}

/** What git reads before the pack, without the commands for refused refs. */
async function commandsFor(
  { bytes, optionBytes }: PushFront,
  refused: ReadonlyMap<string, string>,
): Promise<Buffer> {
  const isRefused = (ref: string): boolean => refused.has(ref);
  const commands = refused.size === 0 ? bytes : await withoutCommands(bytes, isRefused);
  return Buffer.concat([commands, optionBytes]);
}

const pushAgain = "the rules of the project changed while the push was under way; push again";

/**
 * Checks once more when the objects are here and refs are about to move: whether the pusher may still push,
 * what the rules are by now, and what others have locked.
 */
function gateOf(pusher: Pusher, head: PushHead, deniedForced: boolean, deps: PushDeps): PushGate {
  const { project, caller } = pusher;
  const locks = lockGate(project.id, caller.userId, head.commands, deps.locking);
  return async (quarantine) => {
    const access = await deps.accessNow(pusher);
    if (access === undefined) return ["you may not push to this project any more"];
    const room = await deps.bytesLeft(access.project);
    const { refused, denyForced } = await protectedFrom(access, head, { ...deps, room });
    if (refused.size > 0) return [...refused].map(([ref, why]) => `${ref}: ${why}`);
    // Whether git denies forced updates was set when it started, before the pack came.
    if (denyForced && !deniedForced) return [pushAgain];
    return locks(quarantine);
  };
}

/** Git syncs each ref by itself: a few are faster so than everything else on the disk. */
const refsOneByOneMax = 100;

/** Refs that were there before have files that a power cut must not harm; see docs/adr/0013-pushes.md. */
function onlyMakesMany(commands: PushHead["commands"]): boolean {
  if (commands.length <= refsOneByOneMax) return false;
  return commands.every(({ before, after }) => before === null && after !== null);
}

/** Git at work on a prepared push, and the two ends of the line to the client. */
export type Underway = PreparedPush &
  Readonly<{
    child: PackProcess;
    stop: () => void;
    body: Readable;
    /** Gets progress and, once it is true for everybody, the report. */
    answer: Writable;
    requestId: string;
  }>;

/**
 * Runs to its end whether or not the client is still there: what git did has to be recorded.
 *
 * @returns git's exit code; undefined when the push was not recorded, and the client not answered
 */
export async function carryOut(
  underway: Underway,
  deps: PushDeps,
): Promise<Readonly<{ exitCode: number | null }> | undefined> {
  const { push, refused, sideBand, answer, requestId, remarks, offers } = underway;
  try {
    const { report, exitCode } = await runGit(underway, deps.log);
    const repository = await deps.git.find(push.projectId);
    const taken = repository && (await takenBefore(repository, underway, report.raced()));
    const recorded = push.refs.length === 0 ? [] : await record(push, report, deps);
    const unchanged = [...(taken ?? [])].map((ref) => `${ref} is already up to date.`);
    const changedRefs = report.changedRefs();
    const offered = [...offers].flatMap(([ref, line]) => (changedRefs?.has(ref) ? [line] : []));
    if (sideBand) {
      for (const line of [...remarks, ...unchanged, ...recorded, ...offered]) {
        answer.write(remark(line));
      }
    }
    answer.end(report.rest(refused, taken));
    return { exitCode };
  } catch (error) {
    underway.stop();
    // Not acknowledged, and the intent is there for healing.
    deps.log.error({ err: error, requestId, projectId: push.projectId }, "push not recorded");
    // A client of HTTP sends the push again when its connection breaks before an answer, and git then says that refs are
    // where nobody has seen them.
    if (sideBand && error instanceof StoreUnavailable) answer.end(pushRefused(tryAgain, sideBand));
    else answer.destroy(error instanceof Error ? error : new Error(String(error)));
    return undefined;
  }
}

const tryAgain = "The service cannot record the push at the moment. Push again.";

async function runGit(
  { child, body, commands, sideBand, answer, stop, requestId }: Underway,
  log: Logger,
): Promise<Readonly<{ report: PushReport; exitCode: number | null }>> {
  const report = new PushReport(sideBand);
  child.stdout.on("data", (chunk: Buffer) => {
    const progress = report.push(chunk);
    if (progress.length > 0 && !answer.destroyed) answer.write(progress);
  });
  const stderr = lastText(child.stderr, 1_000);
  child.stdin.on("error", () => undefined);
  body.once("error", stop);

  const closed = once(child, "close");
  child.stdin.write(commands);
  body.pipe(child.stdin);
  const [exitCode] = (await closed) as [number | null];
  if (exitCode !== 0) {
    log.info({ requestId, exitCode, stderr: stderr() }, "git receive-pack ended early");
  }
  return { report, exitCode };
}

/** @returns lines for the pusher beside git's report */
async function record(
  push: Push,
  report: PushReport,
  { refs, visible, log }: PushDeps,
): Promise<readonly string[]> {
  const position = await refs.finish(push, report.changedRefs());
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
  { caller, project, ip, requestId }: Pusher,
  { commands, options }: Readonly<{ commands: PushHead["commands"]; options: PushOptions }>,
  deps: PushDeps,
): Promise<Push> {
  const pushId = randomUUID();
  const { userId, actor } = caller;
  const wishes = await wishesOf(options, project.id, deps);
  const requested = { actor, userId, ip, requestId, commandId: pushId };
  const metadata: EventMetadata = {
    ...(await requestedBy(deps, requested)),
    ...(wishes && { push: wishes }),
  };
  // Deleting what is not there requests nothing.
  const refs = commands.filter(({ before, after }) => before !== after);
  return { pushId, projectId: project.id, metadata, refs };
}

/** Undefined when the options request nothing. */
async function wishesOf(
  { ciSkip, ciVariables, mergeRequest }: PushOptions,
  projectId: string,
  { vault }: PushDeps,
): Promise<PushWishes | undefined> {
  const isEmpty = Object.keys(ciVariables).length === 0;
  if (!ciSkip && isEmpty && mergeRequest === null) return undefined;
  const text = JSON.stringify(ciVariables);
  const sealed = isEmpty ? null : await vault.seal(projectSubject(projectId), text);
  return { ciSkip, ciVariables: sealed, mergeRequest };
}

/** A line that the client prints after `remote:`. */
function remark(line: string): Buffer {
  const progressBand = Buffer.from([2]);
  return packet(Buffer.concat([progressBand, Buffer.from(`${line}\n`)]));
}
