import { once } from "node:events";
import { pipeline } from "node:stream/promises";
import { UserId } from "../events/core/ids.ts";
import { lastText } from "../git/last-text.ts";
import { stopPackService, type TalkingService } from "../git/pack-service.ts";
import { Refusal } from "../platform/refusal.ts";
import { findSettings } from "../projections/instance/settings.ts";
import { findSshLogin, type SshLoginRow } from "../projections/user/ssh-key.ts";
import { mustReach } from "../services/git/access.ts";
import type { GitAccess, GitCaller } from "../services/git/caller.ts";
import type { ChannelStream } from "./channel-stream.ts";
import type { SshCommand } from "./command.ts";
import { exitOf } from "./exit.ts";
import { push } from "./push.ts";
import type { SshService } from "./service.ts";

export type CommandSession = Readonly<{
  line: ChannelStream;
  requestId: string;
  /** GIT_PROTOCOL, checked. */
  protocol: string | undefined;
  ip: string;
  by: SshLoginRow;
}>;

/** What the command's program ended with. @throws Refusal why it was not begun */
export async function runCommand(
  command: SshCommand,
  session: CommandSession,
  service: SshService,
): Promise<number> {
  const by = await stillLetIn(session.by, service);
  const writes =
    command.service === "receive-pack" ||
    (command.service === "lfs-authenticate" && command.operation === "upload");
  const { db } = service;
  const access = await mustReach(db, command, by.user_id, writes ? "DEVELOPER" : "GUEST");
  if (command.service === "lfs-authenticate") {
    return authenticateLfs(command, { by, access, line: session.line }, service);
  }
  // Refs that git shows are shown by every other answer as well.
  await service.visible(await service.refs.settle(access.project.id));
  if (command.service === "upload-archive") await mustAllowDownload(service);
  const enter = async () => {
    const heldFor = { caller: by.user_id, signal: session.line.disconnected };
    return (await service.slots.enter(heldFor)).leave;
  };
  if (command.service === "receive-pack") {
    return push({ ...session, access, caller: callerOf(by), enter }, service);
  }
  const leave = await enter();
  try {
    return await talk(command.service, session, access, service);
  } finally {
    leave();
  }
}

/** A connection may be older than the end of its key. */
async function stillLetIn(
  { key_id, user_id, public_key, fingerprint }: SshLoginRow,
  { db, now, noteUse }: SshService,
): Promise<SshLoginRow> {
  const row = await findSshLogin(db, fingerprint, now());
  if (row === undefined || row.user_id !== user_id || row.public_key !== public_key) {
    const message = "Your SSH key has expired or was removed. Add a valid key to your account.";
    throw new Refusal("forbidden", "ssh_key.gone", message);
  }
  noteUse(key_id);
  return row;
}

function callerOf({ user_id, alias, key_id: sshKeyId }: SshLoginRow): GitCaller {
  const userId = UserId.parse(user_id);
  return { userId, actor: { userId, alias, via: "ssh", tokenId: null }, sshKeyId };
}

async function mustAllowDownload({ db }: SshService): Promise<void> {
  if ((await findSettings(db)).fileDownloadIsEnabled) return;
  throw new Refusal("forbidden", "download.disabled", "Downloads are switched off here.");
}

/** Git answers as it reads, until one side ends. */
async function talk(
  program: TalkingService,
  { line, protocol, requestId }: CommandSession,
  { project }: GitAccess,
  { git, log }: SshService,
): Promise<number> {
  const repository = await git.ensure(project.id, project.default_branch);
  const child = repository.startTalking(program, protocol);
  const stop = (): void => stopPackService(child);
  line.disconnected.addEventListener("abort", stop);
  if (line.disconnected.aborted) stop();
  const stderr = lastText(child.stderr, 1_000);
  // Git may end without reading all of it: what it printed is still the answer.
  child.stdin.on("error", () => undefined);
  line.input.pipe(child.stdin);
  const closed = exitOf(child);
  await pipeline(child.stdout, line.output).catch(stop);
  const exitCode = await closed;
  if (exitCode !== 0 && !line.disconnected.aborted) {
    log.info({ requestId, exitCode, stderr: stderr() }, `git ${program} ended early`);
  }
  return exitCode;
}

/** Where git-lfs finds its server, and a token that lets it in; git-lfs(1), docs/api/authentication.md. */
async function authenticateLfs(
  { operation }: Extract<SshCommand, { service: "lfs-authenticate" }>,
  { by, access, line }: Readonly<{ by: SshLoginRow; access: GitAccess; line: ChannelStream }>,
  { lfsTokens, publicUrl, now }: SshService,
): Promise<number> {
  const { project } = access;
  const { user_id: userId, alias, key_id: keyId } = by;
  const grant = { userId, alias, keyId, projectId: project.id, operation };
  const { token, expiresInSeconds } = lfsTokens.issue(grant);
  const answer = {
    href: `${publicUrl}/project/${project.owner_alias}/${project.alias}.git/info/lfs`,
    header: { Authorization: `Bearer ${token}` },
    expires_in: expiresInSeconds,
    expires_at: new Date(now().getTime() + expiresInSeconds * 1_000).toISOString(),
  };
  line.output.end(`${JSON.stringify(answer)}\n`);
  await once(line.output, "finish");
  return 0;
}
