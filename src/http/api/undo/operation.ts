import type { Knex } from "knex";
import type { Recorded } from "../../../events/core/event.ts";
import type { UserId } from "../../../events/core/ids.ts";
import type { Sealed } from "../../../events/core/sealed.ts";
import { Refusal } from "../../../platform/refusal.ts";
import type { Data } from "../../../projections/audit/change.ts";
import type { AuditEntryRow } from "../../../projections/audit/entry.ts";
import type { OwnerScope } from "../../access/owner-scope.ts";

/** An operation of the interface, as a client would request it; the parameters of its owner scope are added. */
export type Operation = Readonly<{
  operationId: string;
  params?: Readonly<Record<string, unknown>>;
  query?: Readonly<Record<string, unknown>>;
  body?: Readonly<Record<string, unknown>>;
  /**
   * Type of the event by which it makes a thing anew, which gets another id. It runs under one command for each
   * undone event, so that repeated and parallel undos make the thing once.
   */
  makes?: string;
}>;

/** What an inverse is made from. */
export type Undone = Readonly<{
  event: Recorded;
  data: Data;
  /** What was said of the thing before the event, field by field. */
  before: () => Promise<Data>;
  /** Of the project, team or company. */
  placeId: string;
  /** Another event, by its entry in the audit. */
  readAt: (entry: AuditEntryRow) => Promise<Recorded>;
  ownerScope: OwnerScope;
  /** Who takes it back. */
  by: UserId;
  db: Knex;
  open: (sealed: Sealed) => Promise<string | null>;
}>;

/** Makes the opposite of an event. @throws Refusal 409 with what stands in the way */
export type Inverse = (undone: Undone) => Operation | Promise<Operation>;

/** @param message what stands in the way */
export function impossible(
  message: string,
  extra: Readonly<Record<string, unknown>> = {},
): Refusal {
  return new Refusal("conflict", "undo.impossible", message, { extra });
}

/** Another event stands in the way. @param what it did */
export function blockedBy({ type, position, event_id }: AuditEntryRow, what: string): Refusal {
  return impossible(`${type} at position ${position} ${what}`, { eventId: event_id });
}
