import { z } from "zod";

import { IsoInstant } from "./ids.ts";
import { Sealed } from "./sealed.ts";

/** How the actor was authenticated. */
export const Via = z.enum([
  "password",
  "token",
  "oauth",
  "session",
  "ssh",
  /** A link that was sent to the person's address. */
  "mail",
  "job",
  /** A program that runs jobs. */
  "agent",
  "cli",
  "system",
  "anonymous",
]);
export type Via = z.output<typeof Via>;

/** Who acts: `userId` is null for the system itself, for agents and for anonymous callers. */
export const Actor = z.object({
  userId: z.uuid().nullable(),
  alias: z.string().nullable(),
  via: Via,
  tokenId: z.uuid().nullable(),
});
export type Actor = Readonly<z.output<typeof Actor>>;

/** What a push requests beside its refs; see docs/adr/0013-pushes.md. */
export const PushWishes = z.object({
  /** No pipeline is started. */
  ciSkip: z.boolean(),
  /** Variables of the pipelines it starts, as JSON; null without any. */
  ciVariables: Sealed.nullable(),
  /** A request to open from each branch that it moved; null for none. */
  mergeRequest: z
    .object({
      /** The default branch when null. */
      target: z.string().nullable(),
      /** What the newest commit says when null. */
      title: z.string().nullable(),
      draft: z.boolean(),
      removeSourceBranch: z.boolean().nullable(),
      mergeWhenPipelineSucceeds: z.boolean(),
    })
    .nullable(),
});
export type PushWishes = Readonly<z.output<typeof PushWishes>>;

/** The envelope every stored event carries; see docs/architecture.md. */
export const EventMetadata = z.object({
  actor: Actor,
  /** Client address, readable only while the actor's key exists; null for work of the system. */
  ip: Sealed.nullable(),
  /** The request (or start-up, or CLI call) that everything with this id followed from. */
  correlationId: z.string(),
  /** Id of the event that caused this one; null when a person did. */
  causationId: z.string().nullable(),
  commandId: z.uuid(),
  schemaVersion: z.int().positive(),
  occurredAt: IsoInstant,
  /** Of changes of refs by a push with options; what follows from these events has none. */
  push: PushWishes.optional(),
});
export type EventMetadata = Readonly<z.output<typeof EventMetadata>>;

/** A decided fact, not yet stored. */
export type AnyEvent = Readonly<{ type: string; data: Readonly<Record<string, unknown>> }>;

/** An event as it is handed to the store. `id` makes a repeated append harmless. */
export type NewEvent<Event extends AnyEvent = AnyEvent> = Event &
  Readonly<{ id: string; metadata: EventMetadata }>;

/** An event as the store gives it back. */
export type Recorded<Event extends AnyEvent = AnyEvent> = Event &
  Readonly<{
    id: string;
    stream: string;
    /** Number within the stream, from 0. */
    revision: bigint;
    /** Place in the whole log; grows, but not by one on every store. */
    position: bigint;
    metadata: EventMetadata;
    recordedAt: Date;
    /**
     * Another application wrote it: it is in no stream of the service or lacks its envelope, so that `data` and
     * `metadata` may be anything. Only who keeps account of the whole log gets such events.
     */
    isForeign?: true;
  }>;

/** Event type name → schema of its data. */
export type EventSchemas = Readonly<Record<string, z.ZodType<Readonly<Record<string, unknown>>>>>;

export type EventOf<Schemas extends EventSchemas> = {
  [Type in keyof Schemas & string]: Readonly<{
    type: Type;
    data: Readonly<z.output<Schemas[Type]>>;
  }>;
}[keyof Schemas & string];
