import sharedPb from "@eventstore/db-client/generated/shared_pb.js";
import type {
  BatchAppendReq,
  BatchAppendResp,
} from "@eventstore/db-client/generated/streams_pb.js";
import streamsPb from "@eventstore/db-client/generated/streams_pb.js";
import type { handleBidiStreamingCall, ServerDuplexStream } from "@grpc/grpc-js";
import emptyPb from "google-protobuf/google/protobuf/empty_pb.js";

import type { Written } from "./batch.ts";
import {
  appendBytesMax,
  checkSize,
  expectedOf,
  proposedOf,
  streamNameOf,
  uuidTextOf,
} from "./codec.ts";
import { noRevision, type ProposedEvent, sizeOf } from "./event.ts";
import { invalid, StoreFailure, unavailable } from "./failure.ts";
import { serviceErrorOf, statusOf } from "./status.ts";
import type { Writer } from "./writer.ts";

type Call = ServerDuplexStream<BatchAppendReq, BatchAppendResp>;

/** An append that is still arriving: clients split large ones. */
type Arriving = {
  readonly options: BatchAppendReq.Options;
  readonly events: ProposedEvent[];
  bytes: number;
  failure: StoreFailure | undefined;
};

const defaultTimeoutMs = 10_000;

/** Many appends over one call; each is answered once, in any order, under its correlation id. */
export class BatchAppendService {
  readonly #writer: Writer;
  readonly #open = new Set<BatchCall>();

  constructor(writer: Writer) {
    this.#writer = writer;
  }

  readonly handle: handleBidiStreamingCall<BatchAppendReq, BatchAppendResp> = (call) => {
    const open = new BatchCall(this.#writer, call);
    const stop = (): void => {
      open.stop();
      this.#open.delete(open);
    };
    this.#open.add(open);
    call.on("data", (request: BatchAppendReq) => open.receive(request));
    call.on("end", () => open.finish());
    for (const event of ["cancelled", "error", "close"]) call.on(event, stop);
  };

  /** Ends open calls; what is already being written is still answered. */
  shutDown(): void {
    for (const open of this.#open) open.shutDown();
  }
}

class BatchCall {
  readonly #writer: Writer;
  readonly #call: Call;
  readonly #arriving = new Map<string, Arriving>();
  #unanswered = 0;
  #isFinished = false;
  #isStopped = false;
  #isClosing = false;

  constructor(writer: Writer, call: Call) {
    this.#writer = writer;
    this.#call = call;
  }

  receive(request: BatchAppendReq): void {
    let id: string;
    try {
      id = uuidTextOf(request.getCorrelationId());
    } catch (error) {
      this.#fail(error);
      return;
    }
    const options = request.getOptions();
    let arriving = this.#arriving.get(id);
    if (arriving === undefined) {
      if (options === undefined) {
        this.#fail(invalid("An append begins with its options"));
        return;
      }
      arriving = { options, events: [], bytes: 0, failure: undefined };
      this.#arriving.set(id, arriving);
    }
    take(arriving, request);
    if (!request.getIsFinal()) return;
    this.#arriving.delete(id);
    void this.#append(request, arriving);
  }

  /** The client sends no more; the call ends with its last answer. */
  finish(): void {
    this.#isFinished = true;
    if (this.#unanswered === 0 && !this.#isStopped) this.#call.end();
  }

  /** What is already being written is still answered. */
  shutDown(): void {
    this.#isClosing = true;
    if (this.#unanswered === 0) this.#fail(unavailable("The event store is shutting down"));
  }

  stop(): void {
    this.#isStopped = true;
    this.#arriving.clear();
  }

  async #append(request: BatchAppendReq, arriving: Arriving): Promise<void> {
    this.#unanswered += 1;
    const response = new streamsPb.BatchAppendResp();
    const correlationId = request.getCorrelationId();
    const identifier = arriving.options.getStreamIdentifier();
    if (correlationId !== undefined) response.setCorrelationId(correlationId);
    if (identifier !== undefined) response.setStreamIdentifier(identifier);
    try {
      response.setSuccess(successOf(await inTime(this.#writer, arriving)));
    } catch (error) {
      const failure = error instanceof StoreFailure ? error.failure : undefined;
      // Not an answer to this append but the state of the server: the client has to reconnect.
      if (failure === undefined || failure.kind === "unavailable") return this.#fail(error);
      response.setError(statusOf(failure));
    }
    this.#unanswered -= 1;
    // Writing to a call that has ended would kill its client, not only the call.
    if (this.#isStopped) return;
    this.#call.write(response);
    if (this.#isFinished) this.finish();
    if (this.#isClosing) this.shutDown();
  }

  #fail(error: unknown): void {
    if (this.#isStopped) return;
    this.stop();
    const failure = error instanceof StoreFailure ? error : unavailable(String(error));
    this.#call.emit("error", serviceErrorOf(failure));
  }
}

function take(arriving: Arriving, request: BatchAppendReq): void {
  try {
    for (const message of request.getProposedMessagesList()) {
      // What is beyond the limit is read to its end, but not kept.
      if (arriving.bytes > appendBytesMax || arriving.failure !== undefined) return;
      const event = proposedOf(message);
      arriving.bytes += sizeOf(event);
      arriving.events.push(event);
    }
  } catch (error) {
    if (!(error instanceof StoreFailure)) throw error;
    arriving.failure = error;
  }
}

/** Clients set no timer of their own: an answer must come by their deadline. */
async function inTime(writer: Writer, { options, events, failure }: Arriving): Promise<Written> {
  if (failure !== undefined) throw failure;
  checkSize(events);
  const stream = streamNameOf(options.getStreamIdentifier());
  const order = {
    stream,
    expected: expectedOf(options),
    work: { kind: "append", events } as const,
  };
  const deadline = options.getDeadline()?.toDate().getTime() ?? Date.now() + defaultTimeoutMs;

  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    const late = (): void => reject(new StoreFailure({ kind: "timeout" }));
    timer = setTimeout(late, Math.min(deadline - Date.now(), 2 ** 31 - 1));
  });
  try {
    return await Promise.race([writer.write(order, deadline), timeout]);
  } finally {
    clearTimeout(timer);
  }
}

function successOf({ revision, position }: Written): streamsPb.BatchAppendResp.Success {
  const success = new streamsPb.BatchAppendResp.Success();
  if (revision === noRevision) success.setNoStream(new emptyPb.Empty());
  else success.setCurrentRevision(revision.toString());
  if (position === undefined) return success.setNoPosition(new emptyPb.Empty());
  const at = new sharedPb.AllStreamPosition()
    .setCommitPosition(position.toString())
    .setPreparePosition(position.toString());
  return success.setPosition(at);
}
