import sharedPb from "@eventstore/db-client/generated/shared_pb.js";
import statusPb from "@eventstore/db-client/generated/status_pb.js";
import { Metadata, type ServiceError, status } from "@grpc/grpc-js";
import anyPb from "google-protobuf/google/protobuf/any_pb.js";
import emptyPb from "google-protobuf/google/protobuf/empty_pb.js";

import { streamIdentifier } from "./codec.ts";
import type { ExpectedRevision } from "./event.ts";
import { type Failure, StoreFailure } from "./failure.ts";

/** A failure as the status of a call, with the trailers by which clients distinguish failures. */
export function serviceErrorOf(error: unknown): ServiceError {
  if (!(error instanceof StoreFailure)) {
    const message = error instanceof Error ? error.message : String(error);
    // Reading goes to the database alone: when that fails, asking again later may succeed.
    return serviceError(status.UNAVAILABLE, `The event store cannot read: ${message}`, {});
  }
  const { failure } = error;
  switch (failure.kind) {
    case "wrongExpectedRevision":
      return serviceError(status.FAILED_PRECONDITION, describe(failure), {
        exception: "wrong-expected-version",
        "stream-name": failure.stream,
        "expected-version": expectedVersionOf(failure.expected).toString(),
        ...(failure.current === undefined ? {} : { "actual-version": failure.current.toString() }),
      });
    case "streamDeleted":
      return serviceError(status.FAILED_PRECONDITION, describe(failure), {
        exception: "stream-deleted",
        "stream-name": failure.stream,
      });
    case "appendTooLarge":
      return serviceError(status.INVALID_ARGUMENT, describe(failure), {
        exception: "maximum-append-size-exceeded",
        "maximum-append-size": failure.bytesMax.toString(),
      });
    case "missingProperties":
      return serviceError(status.INVALID_ARGUMENT, describe(failure), {
        exception: "missing-required-metadata-property",
        "required-metadata-properties": failure.names.join(","),
      });
    case "invalid":
      return serviceError(status.INVALID_ARGUMENT, failure.message, {});
    case "timeout":
      return serviceError(status.ABORTED, describe(failure), {});
    case "unavailable":
      return serviceError(status.UNAVAILABLE, failure.message, {});
  }
}

export function serviceError(
  code: status,
  details: string,
  trailers: Readonly<Record<string, string>>,
): ServiceError {
  const metadata = new Metadata();
  for (const [key, value] of Object.entries(trailers)) metadata.set(key, printable(value));
  // The status message travels percent-encoded, a trailer as it is.
  return Object.assign(new Error(details), { code, details, metadata });
}

/** Trailers are ASCII: a stream name beyond that arrives percent-encoded. */
function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]+/gu, encodeURIComponent);
}

/** The numbers the protocol has for expectations that are not a revision. */
function expectedVersionOf(expected: ExpectedRevision): bigint {
  if (expected === "any") return -2n;
  if (expected === "no_stream") return -1n;
  return expected === "stream_exists" ? -4n : expected;
}

function describe(failure: Exclude<Failure, { message: string }>): string {
  switch (failure.kind) {
    case "wrongExpectedRevision": {
      const current = failure.current ?? "no stream";
      return `Stream ${failure.stream} is at ${current}, not at ${failure.expected}`;
    }
    case "streamDeleted":
      return `Stream ${failure.stream} is deleted`;
    case "appendTooLarge":
      return `An append holds at most ${failure.bytesMax} bytes`;
    case "missingProperties":
      return `An event lacks ${failure.names.join(", ")}`;
    case "timeout":
      return "The append was not carried out in time";
  }
}

/** A failure as the answer to one append of a batch call. */
export function statusOf(failure: Failure): statusPb.Status {
  const message = "message" in failure ? failure.message : describe(failure);
  const { name, bytes } = detailsOf(failure);
  const details = new anyPb.Any();
  details.pack(bytes, `event_store.client.${name}`);
  return new statusPb.Status().setMessage(message).setDetails(details);
}

function detailsOf(failure: Failure): { name: string; bytes: Uint8Array } {
  switch (failure.kind) {
    case "wrongExpectedRevision":
      return { name: "WrongExpectedVersion", bytes: wrongExpectedVersion(failure) };
    case "streamDeleted": {
      const identifier = streamIdentifier(failure.stream);
      const message = new sharedPb.StreamDeleted().setStreamIdentifier(identifier);
      return { name: "StreamDeleted", bytes: message.serializeBinary() };
    }
    case "appendTooLarge": {
      const message = new sharedPb.MaximumAppendSizeExceeded().setMaxappendsize(failure.bytesMax);
      return { name: "MaximumAppendSizeExceeded", bytes: message.serializeBinary() };
    }
    case "timeout":
      return { name: "Timeout", bytes: new sharedPb.Timeout().serializeBinary() };
    default:
      return { name: "BadRequest", bytes: new sharedPb.BadRequest().serializeBinary() };
  }
}

function wrongExpectedVersion(
  failure: Extract<Failure, { kind: "wrongExpectedRevision" }>,
): Uint8Array {
  const message = new sharedPb.WrongExpectedVersion();
  if (failure.current === undefined) message.setCurrentNoStream(new emptyPb.Empty());
  else message.setCurrentStreamRevision(failure.current.toString());
  if (failure.expected === "any") message.setExpectedAny(new emptyPb.Empty());
  else if (failure.expected === "no_stream") message.setExpectedNoStream(new emptyPb.Empty());
  else if (failure.expected === "stream_exists") {
    message.setExpectedStreamExists(new emptyPb.Empty());
  } else message.setExpectedStreamPosition(failure.expected.toString());
  return message.serializeBinary();
}
