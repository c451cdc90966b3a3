import { setTimeout as delay } from "node:timers/promises";
import type { Knex } from "knex";
import type { Logger } from "pino";

import { UserId } from "../events/core/ids.ts";
import type { GitRepositories } from "../git/repositories.ts";
import type { EventStore } from "../platform/event-store/event-store.ts";
import { lfsTokens } from "../platform/key/lfs-token.ts";
import type { Vault } from "../platform/key/vault.ts";
import { useRecorder } from "../platform/last-used.ts";
import { withoutTrailing } from "../platform/trim.ts";
import { watchProjections } from "../projections/progress/visible.ts";
import { projectBytesLeft } from "../projections/project/repository-size.ts";
import { refProtections } from "../projections/protection/applicable.ts";
import { sshKeyUses } from "../projections/user/ssh-key-use.ts";
import { type GitConnections, gitConnections } from "../services/git/connections.ts";
import { lockingOn } from "../services/git/lock-gate.ts";
import { type PackSlots, packSlots } from "../services/git/pack-slots.ts";
import { accessOfPusher } from "../services/git/push-rights.ts";
import { refRecorder } from "../services/git/ref-recorder.ts";
import { authenticateUser } from "./authentication.ts";
import type { ChannelLimits } from "./channel-stream.ts";
import { hostKeys } from "./host-key.ts";
import {
  type AuthenticatedConnection,
  type SshServer,
  type SshServerOptions,
  startSshServer,
} from "./server.ts";
import type { SshService } from "./service.ts";
import { sessionsOf } from "./session.ts";

/** What the role needs of the opened platform. */
export type SshPlatform = Readonly<{
  config: Readonly<{
    sshHost: string;
    /** 0: any that is free. */
    sshPort: number;
    dataDir: string;
    databaseUrl: string;
    publicUrl: string;
    /** Largest project; null: any. */
    projectBytesMax: number | null;
  }>;
  store: EventStore;
  db: Knex;
  vault: Vault;
  git: GitRepositories;
  log: Logger;
}>;

export type SshRoleOptions = Readonly<{
  limits?: SshServerOptions["limits"];
  channelLimits?: ChannelLimits;
  slots?: PackSlots;
  now?: () => Date;
}>;

const closeLimitMs = 5_000;

/** Serves git over SSH until closed. Any number of processes may do it on one data directory. */
export async function startSsh(
  platform: SshPlatform,
  options: SshRoleOptions = {},
): Promise<SshServer> {
  const { config, store, db, vault, git, log } = platform;
  const { limits = {}, channelLimits, slots, now = () => new Date() } = options;
  const { databaseUrl } = config;
  const keys = await hostKeys(config.dataDir);
  const watching = await watchProjections({ databaseUrl, db });
  const connections = gitConnections({ db, onChange: watching.onChange, log, now });
  const service: SshService = {
    db,
    git,
    vault,
    log,
    now,
    slots: packSlots(slots),
    refs: refRecorder({ store, db, git, now, log }),
    protections: (project) => refProtections(db, project),
    bytesLeft: projectBytesLeft({ config, db, git }),
    locking: lockingOn(db),
    accessNow: (pusher) => accessOfPusher(db, pusher, now()),
    visible: watching.visible,
    lfsTokens: lfsTokens(vault, now),
    noteUse: useRecorder(sshKeyUses, { db, log, now }),
    publicUrl: withoutTrailing(config.publicUrl, "/"),
    ...(channelLimits && { channelLimits }),
  };
  const listening = { host: config.sshHost, port: config.sshPort, hostKeys: keys, limits, log };
  const authenticate: SshServerOptions["authenticate"] = (attempt) =>
    authenticateUser(attempt, db, now());
  const server = await startSshServer({ ...listening, authenticate }, (authenticated) => {
    watchOver(connections, authenticated);
    return sessionsOf(service, authenticated);
  });
  log.info({ host: server.host, port: server.port }, "answering SSH");
  return {
    ...server,
    async close() {
      await server.close();
      // What git did before it lost its client is still recorded.
      await Promise.race([service.slots.empty(), delay(closeLimitMs, undefined, { ref: false })]);
      await watching.close();
    },
  };
}

/** Who is blocked, or loses the key, loses the connection. */
function watchOver(connections: GitConnections, { by, socket }: AuthenticatedConnection): void {
  const userId = UserId.parse(by.user_id);
  const actor = { userId, alias: by.alias, via: "ssh", tokenId: null } as const;
  const opened = { userId, actor, sshKeyId: by.key_id };
  socket.once(
    "close",
    connections.watch(opened, () => void socket.destroy()),
  );
}
