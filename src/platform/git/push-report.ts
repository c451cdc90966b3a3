import { flushPacket, packet, packetAt } from "./pkt-line.ts";

const reportBand = 1;
const errorBand = 3;
const bandPayloadMax = 65_515;

/**
 * Takes apart what receive-pack prints. Progress goes on to the client at once; from the report on,
 * everything is held back, so that the client hears of its push after it has been recorded.
 * Formats: gitprotocol-pack(5), "Report Status", and "side-band-64k" in gitprotocol-capabilities(5).
 */
export class PushReport {
  readonly #sideBand: boolean;
  #unread: Buffer = Buffer.alloc(0);
  readonly #held: Buffer[] = [];
  readonly #report: Buffer[] = [];

  /** @param sideBand whether the client takes progress and report through one line */
  constructor(sideBand: boolean) {
    this.#sideBand = sideBand;
  }

  /** @returns what may be sent on now */
  push(chunk: Buffer): Buffer {
    if (!this.#sideBand) {
      this.#held.push(chunk);
      this.#report.push(chunk);
      return Buffer.alloc(0);
    }
    const buffer = Buffer.concat([this.#unread, chunk]);
    const progress: Buffer[] = [];
    let offset = 0;
    for (;;) {
      const next = packetAt(buffer, offset);
      if (next.kind === "partial") break;
      const bytes = buffer.subarray(offset, next.end);
      const isReport = next.kind === "flush" || next.payload[0] === reportBand;
      if (isReport || this.#held.length > 0) this.#held.push(bytes);
      else progress.push(bytes);
      if (next.kind === "data" && next.payload[0] === reportBand) {
        this.#report.push(next.payload.subarray(1));
      }
      offset = next.end;
    }
    this.#unread = buffer.subarray(offset);
    return Buffer.concat(progress);
  }

  /** What was held back. */
  rest(): Buffer {
    return Buffer.concat([...this.#held, this.#unread]);
  }

  /** Refs that git says it changed; undefined when the client did not ask for a report or none came. */
  made(): ReadonlySet<string> | undefined {
    const report = Buffer.concat(this.#report);
    const made = new Set<string>();
    let unpacked = false;
    for (let offset = 0; ; ) {
      const next = packetAt(report, offset);
      if (next.kind !== "data") return unpacked ? made : undefined;
      offset = next.end;
      const line = next.payload.toString("utf8").replace(/\n$/, "");
      if (line.startsWith("unpack ")) unpacked = true;
      if (line.startsWith("ok ")) made.add(line.slice(3));
    }
  }
}

/** An answer in receive-pack's place that makes the client stop and print the message. */
export function pushRefused(message: string, sideBand: boolean): Buffer {
  const text = `${message}\n`.slice(0, bandPayloadMax);
  if (!sideBand) return packet(`ERR ${text}`);
  const bytes = Buffer.concat([Buffer.from([errorBand]), Buffer.from(text)]);
  return Buffer.concat([packet(bytes), flushPacket]);
}
