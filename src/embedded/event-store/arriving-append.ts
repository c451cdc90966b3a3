import type { BatchAppendReq } from "@eventstore/db-client/generated/streams_pb.js";

import type { Order } from "./batch.ts";
import { checkSize, expectedOf, heldBytesMax, proposedOf, streamNameOf } from "./codec.ts";
import { type ProposedEvent, sizeOf } from "./event.ts";
import { StoreFailure } from "./failure.ts";

const defaultTimeoutMs = 10_000;

/** One append of a batch call while it arrives: clients split large ones over several messages. */
export class ArrivingAppend {
  readonly options: BatchAppendReq.Options;
  readonly #events: ProposedEvent[] = [];
  #bytes = 0;
  #failure: StoreFailure | undefined;

  constructor(options: BatchAppendReq.Options) {
    this.options = options;
  }

  take(request: BatchAppendReq): void {
    try {
      for (const message of request.getProposedMessagesList()) {
        // What is beyond the limit is read to its end, but not kept.
        if (this.#bytes > heldBytesMax || this.#failure !== undefined) return;
        const event = proposedOf(message);
        this.#bytes += sizeOf(event);
        this.#events.push(event);
      }
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error;
      this.#failure = error;
    }
  }

  /** @throws StoreFailure for what was wrong with any part of it. */
  order(): Order {
    if (this.#failure !== undefined) throw this.#failure;
    checkSize(this.#events);
    return {
      stream: streamNameOf(this.options.getStreamIdentifier()),
      expected: expectedOf(this.options),
      work: { kind: "append", events: this.#events },
    };
  }

  /** When the client wants an answer at the latest, in milliseconds since 1970. */
  get deadline(): number {
    return this.options.getDeadline()?.toDate().getTime() ?? Date.now() + defaultTimeoutMs;
  }
}
