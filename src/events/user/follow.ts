import { z } from "zod";

import type { EventSchemas } from "../core/event.ts";
import { IsoInstant, UserId } from "../core/ids.ts";
import { streamName } from "../core/stream.ts";

export const followEvents = {
  UserFollowed: z.object({ followerId: UserId, userId: UserId, followedAt: IsoInstant }),
  UserUnfollowed: z.object({ followerId: UserId, userId: UserId, unfollowedAt: IsoInstant }),
} as const satisfies EventSchemas;

/** One stream for each pair: a user with many followers has no long stream. */
export const followStream = (pair: string): string => streamName("follow", pair);

export const followPair = (followerId: string, userId: string): string => `${followerId}~${userId}`;
