import type { Knex } from "knex";
import type { GitRepositories } from "../git/repositories.ts";
import type { LfsTokens } from "../platform/key/lfs-token.ts";
import type { Limit } from "../platform/limit.ts";
import type { PushDeps } from "../services/git/push.ts";
import type { ChannelLimits } from "./channel-stream.ts";

/** What commands over SSH work with. One object a process, made by the role. */
export type SshService = PushDeps &
  Readonly<{
    db: Knex;
    git: GitRepositories;
    slots: Limit;
    lfsTokens: LfsTokens;
    /** Notes that a key was used. */
    noteUse: (keyId: string) => void;
    channelLimits?: ChannelLimits;
  }>;
