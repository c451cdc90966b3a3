import { z } from "zod";

import { slices } from "../../events/all.ts";
import { decode } from "../../events/core/decode.ts";
import { EventMetadata, type EventSchemas, type Recorded } from "../../events/core/event.ts";
import { isStorableValue } from "../../platform/storable-text.ts";

/**
 * An event as a line of JSON that can be put into another store: what is sealed stays sealed, so that who
 * has the line alone reads no personal data and no secret.
 */
export function sealedLine(event: Recorded): string {
  const { position, stream, revision, id, type, data, metadata, recordedAt } = event;
  const numbers = { position: String(position), revision: String(revision) };
  return JSON.stringify({ ...numbers, stream, id, type, data, metadata, recordedAt });
}

/** Far over what an append may have. */
const lineLengthMax = 4 * 1024 ** 2;

const Count = z
  .string()
  .regex(/^\d{1,19}$/, "must be a whole number as text")
  .transform(BigInt);

const Line = z.object({
  position: Count,
  // A dollar sign begins the streams of the store itself: its access lists, its settings.
  stream: z.string().min(1).max(1_024).regex(/^[^$]/, "must be a stream of the service"),
  revision: Count,
  id: z.uuid(),
  type: z.string().min(1),
  data: z.record(z.string(), z.unknown()),
  metadata: EventMetadata,
  recordedAt: z.iso.datetime().transform((text) => new Date(text)),
});

/** What is wrong with a line of an exported log; lines count from 1. */
export class BadLine extends Error {
  override readonly name = "BadLine";

  constructor(
    readonly line: number,
    why: string,
  ) {
    super(`line ${line}: ${why}`);
  }
}

/**
 * Reads an exported log and checks each line: its form, its type and what the type says, and that it follows
 * on the lines before it. Holds the names of streams, no events.
 *
 * @param lines as `sealedLine` makes them
 * @throws BadLine
 */
export async function* readSealedLog(lines: AsyncIterable<string>): AsyncGenerator<Recorded> {
  const next = new Map<string, bigint>();
  let position = -1n;
  let number = 0;
  for await (const line of lines) {
    number += 1;
    const event = parsed(line, number);
    if (event.position <= position) {
      throw new BadLine(number, `position ${event.position} does not follow on ${position}`);
    }
    const expected = next.get(event.stream) ?? 0n;
    if (event.revision !== expected) {
      const mismatch = `${event.stream} has revision ${event.revision} where ${expected} follows`;
      throw new BadLine(number, `${mismatch}: lines are missing or were put elsewhere`);
    }
    next.set(event.stream, expected + 1n);
    position = event.position;
    yield event;
  }
}

const schemas: EventSchemas = Object.assign({}, ...Object.values<EventSchemas>(slices));

function parsed(line: string, number: number): Recorded {
  if (line.length > lineLengthMax) throw new BadLine(number, "it is too long for an event");
  const event = shapeOf(line, number);
  if (!isStorableValue(event.data) || !isStorableValue(event.metadata)) {
    throw new BadLine(number, "it holds a NUL or half of a surrogate pair");
  }
  try {
    // Only checked: what is stored are the bytes that were exported.
    decode(schemas, event);
  } catch (error) {
    const why = error instanceof z.ZodError ? firstOf(error, "data") : messageOf(error);
    throw new BadLine(number, `${event.type}: ${why}`);
  }
  return event;
}

function shapeOf(line: string, number: number): Recorded {
  let json: unknown;
  try {
    json = JSON.parse(line);
  } catch {
    throw new BadLine(number, "it is not JSON; the file may be cut off");
  }
  const result = Line.safeParse(json);
  if (!result.success) throw new BadLine(number, firstOf(result.error));
  // As they stand there: fields of a newer writer belong to what the chain was made of.
  const { data, metadata } = json as Pick<Recorded, "data" | "metadata">;
  return { ...result.data, data, metadata } as Recorded;
}

function firstOf({ issues }: z.ZodError, within?: string): string {
  const [issue] = issues;
  const path = [...(within === undefined ? [] : [within]), ...(issue?.path ?? [])].join(".");
  const hint = /sealed/i.test(issue?.message ?? "")
    ? "; an export that can be imported is made by `events export --sealed`"
    : "";
  return `${path} ${issue?.message ?? "is wrong"}${hint}`;
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
