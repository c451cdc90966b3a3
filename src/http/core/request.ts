import type { Readable } from "node:stream";
import type { Slice } from "../../commands/core/decider.ts";
import type { CommandResult } from "../../commands/core/handle.ts";
import type { Actor, EventMetadata, EventSchemas } from "../../events/core/event.ts";
import type { UserId } from "../../events/core/ids.ts";
import type { Scope } from "../../events/token/access-token.ts";
import type { Access, Role } from "../access/access.ts";
import type { Caller, ResolvedCompany, ResolvedProject, ResolvedTeam } from "../access/gate.ts";

/** What a handler knows about the request, beyond what it was sent. */
export type RequestContext = Readonly<{
  actor: Actor;
  /** Null for anonymous callers. */
  userId: UserId | null;
  isAdmin: boolean;
  /** The token's scopes; all of them after a password. */
  scopes: ReadonlySet<Scope>;
  /** When the caller's token expires, if it does. */
  expiresAt?: NonNullable<Caller["expiresAt"]>;
  /** Of a caller who was authenticated by the token of a job. */
  job?: NonNullable<Caller["job"]>;
  /** Address of the peer. Headers that claim another one are not believed. */
  ip: string;
  requestId: string;
  /** A header of the request, empty when it is not there. */
  header: (name: string) => string;
  /** From Idempotency-Key, or random: the same on every attempt at the same request. */
  commandId: string;
  /** Sets who acts, in a handler that authenticates its caller by itself; before `metadata`. */
  actBy: (actor: Actor) => void;
  /**
   * The envelope for the events of this request. The first call checks the rights as `mustStillMay` does.
   *
   * @throws what `mustStillMay` throws
   */
  metadata: () => Promise<EventMetadata>;
  /**
   * Checks the caller's rights again when they were checked over a second ago: the body may have
   * come slowly, or the work may have waited.
   *
   * @throws Refusal 403, 404 when the caller may not make the request any more
   */
  mustStillMay: () => Promise<void>;
  /**
   * Carries out a command under the envelope of this request, and waits until requests read what came of it.
   *
   * @param id what follows the category in the name of the stream
   * @throws what `handle`, `metadata` and `visible` throw
   */
  execute: <State, Command, Schemas extends EventSchemas>(
    slice: Slice<State, Command, Schemas>,
    id: string,
    command: Command,
  ) => Promise<void>;
  /**
   * Runs what takes more than a command, such as a process over several streams, under the envelope of this
   * request, and waits until requests read what came of it.
   *
   * @throws what `process`, `metadata` and `visible` throw
   */
  executeProcess: <Result extends CommandResult>(
    process: (metadata: EventMetadata) => Promise<Result>,
  ) => Promise<Result>;
  /** See Deps.visible. */
  visible: (position: bigint | undefined) => Promise<void>;
  /** The answer is what this content id (a commit hash) names: it never changes. */
  immutable: (contentId: string) => void;
  /** Aborts when the caller goes away. */
  signal: AbortSignal;
  /** The body as it comes, for a route that declares an upload or an attachment; more than so much is refused. */
  incoming: (bytesMax: number) => Incoming;
}>;

export type Incoming = Readonly<{ contentType: string; body: Readable }>;

/** With what the declared access has already made sure of. */
export type RequestFor<A extends Access> = RequestContext & Authenticated<A>;

type AuthenticatedUser = Readonly<{ userId: UserId }>;
type Authenticated<A extends Access> = A extends
  | "anonymous"
  | "client"
  | "agent"
  | `${"admin" | "user"}:READER`
  ? unknown
  : A extends "project:READER"
    ? ResolvedProject
    : A extends `project:${Role}`
      ? AuthenticatedUser & ResolvedProject
      : A extends `team:${Role}`
        ? AuthenticatedUser & ResolvedTeam
        : A extends `company:${Role}`
          ? AuthenticatedUser & ResolvedCompany
          : AuthenticatedUser;
