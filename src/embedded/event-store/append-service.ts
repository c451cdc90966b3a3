import sharedPb from "@eventstore/db-client/generated/shared_pb.js";
import type {
  AppendReq,
  DeleteReq,
  TombstoneReq,
} from "@eventstore/db-client/generated/streams_pb.js";
import streamsPb from "@eventstore/db-client/generated/streams_pb.js";
import type { handleClientStreamingCall, handleUnaryCall } from "@grpc/grpc-js";

import type { Written } from "./batch.ts";
import { checkSize, expectedOf, heldBytesMax, proposedOf, streamNameOf } from "./codec.ts";
import { noRevision, originalOf, type ProposedEvent, sizeOf } from "./event.ts";
import { type Failure, invalid, StoreFailure } from "./failure.ts";
import { endedInOrder } from "./half-close.ts";
import { serviceErrorOf } from "./status.ts";
import type { Writer } from "./writer.ts";

/** One append a call: what clients use when they pass credentials. */
export function appendHandler(
  writer: Writer,
): handleClientStreamingCall<AppendReq, streamsPb.AppendResp> {
  return (call, answer) => {
    const append = async (): Promise<streamsPb.AppendResp> => {
      let options: AppendReq.Options | undefined;
      const events: ProposedEvent[] = [];
      let bytes = 0;
      for await (const request of call as AsyncIterable<AppendReq>) {
        options ??= request.getOptions();
        const message = request.getProposedMessage();
        // What is beyond the limit is read to its end, but not kept.
        if (message === undefined || bytes > heldBytesMax) continue;
        const event = proposedOf(message);
        bytes += sizeOf(event);
        events.push(event);
      }
      if (!(await endedInOrder(call))) throw invalid("The append was cut off");
      if (options === undefined) throw invalid("An append begins with its options");
      checkSize(events);
      const stream = streamNameOf(options.getStreamIdentifier());
      const work = { kind: "append", events } as const;
      const order = { stream, expected: expectedOf(options), work };
      return appended(await writer.write(order, deadlineOf(call)));
    };
    append().then(
      (response) => answer(null, response),
      (error: unknown) => {
        const failure = error instanceof StoreFailure ? error.failure : undefined;
        // A conflict is an answer here, not an error.
        if (failure?.kind === "wrongExpectedRevision") answer(null, conflict(failure));
        else answer(serviceErrorOf(error));
      },
    );
  };
}

export function deleteHandler(writer: Writer): handleUnaryCall<DeleteReq, streamsPb.DeleteResp> {
  return (call, answer) => {
    end(writer, "delete", call.request.getOptions(), deadlineOf(call)).then(
      (position) => {
        const at = new streamsPb.DeleteResp.Position();
        at.setCommitPosition(position).setPreparePosition(position);
        answer(null, new streamsPb.DeleteResp().setPosition(at));
      },
      (error: unknown) => answer(serviceErrorOf(error)),
    );
  };
}

export function tombstoneHandler(
  writer: Writer,
): handleUnaryCall<TombstoneReq, streamsPb.TombstoneResp> {
  return (call, answer) => {
    end(writer, "tombstone", call.request.getOptions(), deadlineOf(call)).then(
      (position) => {
        const at = new streamsPb.TombstoneResp.Position();
        at.setCommitPosition(position).setPreparePosition(position);
        answer(null, new streamsPb.TombstoneResp().setPosition(at));
      },
      (error: unknown) => answer(serviceErrorOf(error)),
    );
  };
}

async function end(
  writer: Writer,
  kind: "delete" | "tombstone",
  options: DeleteReq.Options | TombstoneReq.Options | undefined,
  deadline: number,
): Promise<string> {
  if (options === undefined) throw invalid("A delete needs its options");
  const stream = streamNameOf(options.getStreamIdentifier());
  if (originalOf(stream) !== undefined) throw invalid("Metadata is not deleted on its own");
  const order = { stream, expected: expectedOf(options), work: { kind } };
  const { position } = await writer.write(order, deadline);
  return (position ?? 0n).toString();
}

function deadlineOf(call: { getDeadline(): Date | number }): number {
  return Number(call.getDeadline());
}

function appended({ revision, position }: Written): streamsPb.AppendResp {
  const success = new streamsPb.AppendResp.Success();
  if (revision === noRevision) success.setNoStream(new sharedPb.Empty());
  else success.setCurrentRevision(revision.toString());
  if (position === undefined) success.setNoPosition(new sharedPb.Empty());
  else {
    const at = new streamsPb.AppendResp.Position()
      .setCommitPosition(position.toString())
      .setPreparePosition(position.toString());
    success.setPosition(at);
  }
  return new streamsPb.AppendResp().setSuccess(success);
}

function conflict({
  current,
  expected,
}: Extract<Failure, { kind: "wrongExpectedRevision" }>): streamsPb.AppendResp {
  const wrong = new streamsPb.AppendResp.WrongExpectedVersion();
  if (current === undefined) wrong.setCurrentNoStream(new sharedPb.Empty());
  else wrong.setCurrentRevision(current.toString());
  if (expected === "any") wrong.setExpectedAny(new sharedPb.Empty());
  else if (expected === "no_stream") wrong.setExpectedNoStream(new sharedPb.Empty());
  else if (expected === "stream_exists") wrong.setExpectedStreamExists(new sharedPb.Empty());
  else wrong.setExpectedRevision(expected.toString());
  return new streamsPb.AppendResp().setWrongExpectedVersion(wrong);
}
