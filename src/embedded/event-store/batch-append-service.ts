import sharedPb from "@eventstore/db-client/generated/shared_pb.js";
import type {
  BatchAppendReq,
  BatchAppendResp,
} from "@eventstore/db-client/generated/streams_pb.js";
import streamsPb from "@eventstore/db-client/generated/streams_pb.js";
import type { handleBidiStreamingCall, ServerDuplexStream } from "@grpc/grpc-js";
import emptyPb from "google-protobuf/google/protobuf/empty_pb.js";

import { within } from "../../platform/time/within.ts";
import { ArrivingAppend } from "./arriving-append.ts";
import type { Written } from "./batch.ts";
import { uuidTextOf } from "./codec.ts";
import { noRevision } from "./event.ts";
import { invalid, StoreFailure, unavailable } from "./failure.ts";
import { serviceErrorOf, statusOf } from "./status.ts";
import type { Writer } from "./writer.ts";

type Call = ServerDuplexStream<BatchAppendReq, BatchAppendResp>;

const shuttingDown = () => unavailable("The event store is shutting down");

/** Many appends over one call; each is answered once, in any order, under its correlation id. */
export class BatchAppendService {
  readonly #writer: Writer;
  readonly #open = new Set<BatchCall>();
  #isClosing = false;

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
    if (this.#isClosing) open.shutDown();
  };

  /** Ends open calls; what is already being written is still answered. */
  shutDown(): void {
    this.#isClosing = true;
    for (const open of this.#open) open.shutDown();
  }
}

class BatchCall {
  readonly #writer: Writer;
  readonly #call: Call;
  readonly #arriving = new Map<string, ArrivingAppend>();
  #unanswered = 0;
  #isFinished = false;
  #isStopped = false;
  #isClosing = false;

  constructor(writer: Writer, call: Call) {
    this.#writer = writer;
    this.#call = call;
  }

  receive(request: BatchAppendReq): void {
    if (this.#isStopped) return;
    try {
      const id = uuidTextOf(request.getCorrelationId());
      const append = this.#arriving.get(id) ?? begin(request);
      this.#arriving.set(id, append);
      append.take(request);
      if (!request.getIsFinal()) return;
      this.#arriving.delete(id);
      void this.#write(request, append);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** The client sends no more; the call ends with its last answer. */
  finish(): void {
    this.#isFinished = true;
    if (this.#unanswered === 0 && !this.#isStopped) this.#call.end();
  }

  shutDown(): void {
    this.#isClosing = true;
    if (this.#unanswered === 0) this.#fail(shuttingDown());
  }

  stop(): void {
    this.#isStopped = true;
    this.#arriving.clear();
  }

  async #write(request: BatchAppendReq, append: ArrivingAppend): Promise<void> {
    this.#unanswered += 1;
    const response = new streamsPb.BatchAppendResp();
    const correlationId = request.getCorrelationId();
    const identifier = append.options.getStreamIdentifier();
    if (correlationId !== undefined) response.setCorrelationId(correlationId);
    if (identifier !== undefined) response.setStreamIdentifier(identifier);
    try {
      response.setSuccess(successOf(await inTime(this.#writer, append)));
    } catch (error) {
      const failure = error instanceof StoreFailure ? error.failure : undefined;
      // Not an answer to this append but the state of the server: the client has to reconnect.
      if (failure === undefined || failure.kind === "unavailable") return this.#fail(error);
      response.setError(statusOf(failure));
    }
    this.#unanswered -= 1;
    // After a failed call the client has given up its appends, and a late answer would crash it.
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

function begin(request: BatchAppendReq): ArrivingAppend {
  const options = request.getOptions();
  if (options === undefined) throw invalid("An append begins with its options");
  return new ArrivingAppend(options);
}

/** Clients set no timer of their own: an answer must come by their deadline. */
async function inTime(writer: Writer, append: ArrivingAppend): Promise<Written> {
  const { deadline } = append;
  const ms = Math.min(deadline - Date.now(), 2 ** 31 - 1);
  const late = () => new StoreFailure({ kind: "timeout" });
  return within(ms, writer.write(append.order(), deadline), late);
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
