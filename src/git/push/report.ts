import { flushPacket, packet, packetAt } from "../pkt-line.ts";

const reportBand = 1;
const errorBand = 3;
const bandPayloadMax = 65_515;

/**
 * Takes apart what receive-pack prints. Progress goes on to the client at once; from the report on,
 * everything is held back, so that the client gets the report after the push has been recorded.
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

  /**
   * What was held back.
   *
   * @param refused ref → why git never got its command; reported to the client as if git had refused it
   * @param taken refs that git did not change because they stood where the push wants them
   */
  rest(
    refused: ReadonlyMap<string, string> = new Map(),
    taken: ReadonlySet<string> = new Set(),
  ): Buffer {
    const report = Buffer.concat(this.#report);
    // Without a report there is nothing a client would read about single refs.
    if ((refused.size === 0 && taken.size === 0) || report.length === 0) {
      return Buffer.concat([...this.#held, this.#unread]);
    }
    const whole = Buffer.concat([
      ...this.#lines().map((line) => packet(`${corrected(line, taken)}\n`)),
      ...[...refused].map(([ref, why]) => packet(`ng ${ref} ${why}\n`)),
      flushPacket,
    ]);
    return this.#sideBand ? Buffer.concat([...inBand(reportBand, whole), flushPacket]) : whole;
  }

  /** Refs that git reported as changed; undefined when the client did not request a report or none arrived. */
  changedRefs(): ReadonlySet<string> | undefined {
    const lines = this.#lines();
    if (!lines.some((line) => line.startsWith("unpack "))) return undefined;
    return new Set(lines.flatMap((line) => (line.startsWith("ok ") ? [line.slice(3)] : [])));
  }

  /**
   * Refs that git could not change because they are not where the client saw them, or are locked. Nothing that
   * was refused for what it is.
   */
  raced(): readonly string[] {
    return this.#lines().flatMap((line) => {
      const [, ref = "", why = ""] = /^ng (\S+) (.*)$/.exec(line) ?? [];
      return raceReason.test(why) ? [ref] : [];
    });
  }

  #lines(): readonly string[] {
    const report = Buffer.concat(this.#report);
    const lines: string[] = [];
    for (let offset = 0; ; ) {
      const next = packetAt(report, offset);
      if (next.kind !== "data") return lines;
      offset = next.end;
      lines.push(next.payload.toString("utf8").replace(/\n$/, ""));
    }
  }
}

/** What receive-pack says of a lost race, in all versions of git. */
const raceReason =
  /failed to update ref|cannot lock ref|already exists|incorrect old value|transaction failed/;

function corrected(line: string, taken: ReadonlySet<string>): string {
  const ref = /^ng (\S+) /.exec(line)?.[1];
  return ref !== undefined && taken.has(ref) ? `ok ${ref}` : line;
}

/** The whole report of a push of which git heard nothing, because every ref was refused. */
export function everythingRefused(refused: ReadonlyMap<string, string>, sideBand: boolean): Buffer {
  const lines = [...refused].map(([ref, why]) => packet(`ng ${ref} ${why}\n`));
  const report = Buffer.concat([packet("unpack ok\n"), ...lines, flushPacket]);
  return sideBand ? Buffer.concat([...inBand(reportBand, report), flushPacket]) : report;
}

function inBand(band: number, bytes: Buffer): readonly Buffer[] {
  const packets: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += bandPayloadMax) {
    const payload = bytes.subarray(at, at + bandPayloadMax);
    packets.push(packet(Buffer.concat([Buffer.from([band]), payload])));
  }
  return packets;
}

/** An answer in receive-pack's place that makes the client stop and print the message. */
export function pushRefused(message: string, sideBand: boolean): Buffer {
  const text = `${message}\n`.slice(0, bandPayloadMax);
  if (!sideBand) return packet(`ERR ${text}`);
  const bytes = Buffer.concat([Buffer.from([errorBand]), Buffer.from(text)]);
  return Buffer.concat([packet(bytes), flushPacket]);
}
