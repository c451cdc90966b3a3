import { randomUUID } from "node:crypto";
import type { ServerChannel } from "ssh2";
import { isProtocolText } from "../git/pack-service.ts";
import { asCaller } from "../platform/caller.ts";
import { asOperation, mustNotBeSuspended } from "../platform/event-loop/operation.ts";
import { Refusal } from "../platform/refusal.ts";
import { type ChannelLimits, type ChannelStream, openChannelStream } from "./channel-stream.ts";
import { parseSshCommand } from "./command.ts";
import { runCommand } from "./run.ts";
import type { AuthenticatedConnection, OnSession } from "./server.ts";
import type { SshService } from "./service.ts";

/** git(1) ends with this when it could not even begin. */
const exitRefused = 128;

const channelLimitsDefault: ChannelLimits = { idleMs: 2 * 60_000, totalMs: 4 * 60 * 60_000 };

/**
 * The requests that a client may send on a channel: name its protocol version and run one of git's commands.
 * Terminals, forwarding, agents, subsystems and variables are refused by not being listened for.
 */
export function sessionsOf(service: SshService, authenticated: AuthenticatedConnection): OnSession {
  return (session, done) => {
    let protocol: string | undefined;
    session.on("env", (accept, reject, { key, val }) => {
      // Declared as always there, but a client that wants no answer gets none.
      if (key !== "GIT_PROTOCOL" || !isProtocolText(String(val))) return void reject?.();
      protocol = String(val);
      accept?.();
    });
    session.on("shell", (accept) => greet(accept(), authenticated, done));
    session.on("exec", (accept, _reject, { command }) => {
      const channel = accept() as ServerChannel | undefined;
      // A second command on the same channel.
      if (channel === undefined) return;
      void serve({ service, authenticated, channel, command, protocol }).finally(done);
    });
  };
}

function greet(
  channel: ServerChannel | undefined,
  { by }: AuthenticatedConnection,
  done: () => void,
): void {
  if (channel === undefined) return;
  // What the client sends means nothing.
  channel.resume();
  channel.stderr.write(
    `Hello ${by.alias}, you are authenticated. The service offers no shell, only git.\r\n`,
  );
  channel.exit(1);
  channel.end();
  done();
}

type Serving = Readonly<{
  service: SshService;
  authenticated: AuthenticatedConnection;
  channel: ServerChannel;
  command: string;
  protocol: string | undefined;
}>;

/** One line of the log a command, whatever becomes of it. */
async function serve({
  service,
  authenticated,
  channel,
  command,
  protocol,
}: Serving): Promise<void> {
  const { log, channelLimits = channelLimitsDefault } = service;
  const line = openChannelStream(channel, authenticated, channelLimits);
  if (line === undefined) return;
  const begun = performance.now();
  const requestId = randomUUID();
  const parsed = parseSshCommand(command);
  const { ip, by } = authenticated;
  const exitCode = await run(line, async () => {
    if (parsed === undefined) {
      const message = "The service runs only git's commands, on a path like owner/project.git.";
      throw new Refusal("bad_request", "ssh.command_unknown", message);
    }
    const session = { line, requestId, protocol, ip, by };
    const running = { name: `ssh-${parsed.service}`, caller: by.user_id };
    mustNotBeSuspended(running);
    return asOperation(running, () =>
      asCaller(by.user_id, () => runCommand(parsed, session, service)),
    );
  }).catch((error: unknown) => {
    log.error({ err: error, requestId }, "a command over SSH failed");
    line.say("error: the service has failed; please try again\n");
    return exitRefused;
  });
  line.end(exitCode);
  const ms = Math.round(performance.now() - begun);
  const what = { requestId, userId: by.user_id, keyId: by.key_id, service: parsed?.service };
  log.info({ ...what, exitCode, ms }, "git over SSH");
}

/** Sends the message of a refusal to the client. */
async function run(line: ChannelStream, command: () => Promise<number>): Promise<number> {
  try {
    return await command();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    line.say(`error: ${error.message}\n`);
    return exitRefused;
  }
}
