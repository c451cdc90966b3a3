import streamsGrpc from "@eventstore/db-client/generated/streams_grpc_pb.js";
import type {
  BatchAppendReq,
  BatchAppendResp,
} from "@eventstore/db-client/generated/streams_pb.js";
import type { ClientDuplexStream } from "@grpc/grpc-js";

type Call = ClientDuplexStream<BatchAppendReq, BatchAppendResp>;
type Listener = (...given: unknown[]) => void;

/**
 * Lets answers pass that the client of the event store waits for no more.
 *
 * The client keeps the appends of all its connections in one table and clears it when one of them fails; after
 * any failed call it opens another connection beside the old one. The answer to an append of the new one, which
 * was rejected with those of the old one, is then looked up in vain: the client throws inside of an event
 * handler, which ends the process. Here the answer is dropped: the append was already reported as failed.
 */
export function dropLateAnswers(): void {
  if (isDone) return;
  isDone = true;
  const { prototype } = streamsGrpc.StreamsClient;
  const open = prototype.batchAppend as (...given: unknown[]) => Call;
  prototype.batchAppend = function (this: unknown, ...given: unknown[]): Call {
    const call = open.apply(this, given);
    const on = call.on.bind(call) as (event: string, listener: Listener) => Call;
    call.on = ((event: string, listener: Listener) =>
      on(event, event === "data" ? droppingErrors(listener) : listener)) as Call["on"];
    return call;
  } as typeof prototype.batchAppend;
}

let isDone = false;

/** An append whose answer makes the client throw has been reported as failed already, or times out. */
const droppingErrors =
  (listener: Listener): Listener =>
  (...given) => {
    try {
      listener(...given);
    } catch {
      // Nobody waits for it.
    }
  };
