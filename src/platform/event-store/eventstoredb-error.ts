import {
  AccessDeniedError,
  DeadlineExceededError,
  isCommandError,
  MaxAppendSizeExceededError,
  TimeoutError,
  WrongExpectedVersionError,
} from "@eventstore/db-client";
import { status } from "@grpc/grpc-js";

import { Refusal } from "../refusal.ts";
import { RevisionConflict, StoreDenied, StoreUnavailable } from "./event-store.ts";

/** Types of the client's errors after which the same call may succeed later. */
const outageTypes: ReadonlySet<string> = new Set([
  "cancelled",
  "deadline-exceeded",
  "not-leader",
  "timeout",
  "unavailable",
]);

/** Statuses of calls that failed on the way: the client does not wrap all of them. */
const outageCodes: ReadonlySet<number> = new Set([
  status.CANCELLED,
  status.DEADLINE_EXCEEDED,
  status.INTERNAL,
  status.RESOURCE_EXHAUSTED,
  status.UNAVAILABLE,
]);

/** Plain errors the client throws while its connection is being replaced. */
const outageMessage = /^Failed to discover|channel (?:has been|is) (?:shut down|closed)/i;

/** What a server says of a position in $all at which no event begins. */
const noPosition = /Unexpected (?:Filtered)?ReadAllResult: Error/;

/** What servers of a cluster say, with a status that fits no outage, while they choose a leader or start. */
const notReadyMessage = /No leader info available|Server Is (?:Not Ready|Busy)/i;

/** The client's error in the port's words; what is neither a conflict nor an outage stays as it is. */
export function storeError(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error));
  if (error instanceof WrongExpectedVersionError) {
    const { streamName, expectedVersion, actualVersion } = error;
    const text = `${streamName} is at ${actualVersion}, not at ${expectedVersion}`;
    return new RevisionConflict(text, { cause: error });
  }
  if (error instanceof MaxAppendSizeExceededError) {
    const message = `The event store takes no more than ${error.maxAppendSize} bytes at once.`;
    return new Refusal("unprocessable", "event.too_large", message);
  }
  const code = codeOf(error);
  if (code === status.UNAUTHENTICATED) {
    const text =
      "EventStoreDB denies access: it does not know the user in EVENTSTORE_URL, or the password is wrong";
    return new StoreDenied(text, { cause: error });
  }
  if (error instanceof AccessDeniedError || code === status.PERMISSION_DENIED) {
    const text =
      "EventStoreDB denies access: its user lacks a right; docs/operations.md says what has to be granted";
    return new StoreDenied(text, { cause: error });
  }
  if (code === status.UNKNOWN && noPosition.test(error.message)) {
    const text =
      "The log has no event at a position that was read before: it is another one, or was restored";
    return new Error(text, { cause: error });
  }
  if (isOutage(error)) {
    return new StoreUnavailable(error.message || "The event store did not answer", {
      cause: error,
    });
  }
  return error;
}

function isOutage(error: Error): boolean {
  if (notReadyMessage.test(error.message)) return true;
  if (isCommandError(error) && outageTypes.has(error.type)) return true;
  const code = codeOf(error);
  if (typeof code === "number") return outageCodes.has(code);
  return outageMessage.test(error.message);
}

/** The call was ended on this side, with its connection. */
export const isGivenUp = (error: unknown): boolean =>
  error instanceof StoreUnavailable && codeOf(error.cause) === status.CANCELLED;

const codeOf = (error: unknown): unknown =>
  error instanceof Error && "code" in error ? error.code : undefined;

/** The server did not finish an append in its own time: the same one may be under way. */
export const isTimeout = (error: unknown): boolean =>
  error instanceof StoreUnavailable &&
  (error.cause instanceof DeadlineExceededError || error.cause instanceof TimeoutError);

/**
 * The call was never sent: the client closed the channel between the choice of it and the start of the call. The next
 * call uses the channel that replaces it. An append may have been sent all the same, because the client fails all of
 * them with the error of one.
 */
export function isNotStarted(error: unknown): boolean {
  return error instanceof Error && notStartedMessage.test(error.message);
}

const notStartedMessage = /Channel closed before call started|Channel has been shut down/;

/** The client found no node, and keeps that as the connection of its later calls. */
export function isDiscoveryFailure(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("Failed to discover");
}
