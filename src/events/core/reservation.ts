import { z } from "zod";

import type { EventOf, EventSchemas } from "./event.ts";
import { IsoInstant, normaliseAlias } from "./ids.ts";
import { streamName } from "./stream.ts";

/** A name that only one thing may hold at a time is a stream of its own. */
export const reservationEvents = {
  NameReserved: z.object({ holderId: z.uuid(), reservedAt: IsoInstant }),
  NameReleased: z.object({ holderId: z.uuid(), releasedAt: IsoInstant }),
} as const satisfies EventSchemas;

export type ReservationEvent = EventOf<typeof reservationEvents>;

/** Users, teams and companies share one name space. */
export const aliasStream = (alias: string): string => streamName("alias", normaliseAlias(alias));

/** Where the holder of an alias would exist, whichever of the three it is. */
export const aliasHolderStreams = (id: string): readonly string[] =>
  ["user", "team", "company"].map((category) => streamName(category, id));

/** `digest` is a keyed digest, so that the log does not reveal who has an account here. */
export const emailStream = (digest: string): string => streamName("email", digest);

export const projectAliasStream = (ownerId: string, alias: string): string =>
  streamName("projectAlias", `${ownerId}~${normaliseAlias(alias)}`);

export const sshKeyNameStream = (fingerprint: string): string => streamName("sshKey", fingerprint);

/** A tag has one release; `digest` is that of its name, which may hold any character. */
export const releaseTagStream = (projectId: string, digest: string): string =>
  streamName("releaseTag", `${projectId}~${digest}`);

/** Names of package repositories are compared without case, because those of container images are. */
export const registryRepositoryNameStream = (ownerId: string, name: string): string =>
  streamName("registryRepositoryName", `${ownerId}~${name.toLowerCase()}`);

export const gpgKeyNameStream = (fingerprint: string): string => streamName("gpgKey", fingerprint);

/** Between two branches there is one open merge request; `digest` is that of their names. */
export const mergeRequestPairStream = (projectId: string, digest: string): string =>
  streamName("mergeRequestPair", `${projectId}~${digest}`);
