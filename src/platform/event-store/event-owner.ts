import type { Recorded } from "../../events/core/event.ts";
import { isStreamName } from "../../events/core/stream.ts";

/** An event of the store itself: metadata, tombstones, statistics, settings, accounts. */
export const isSystemEvent = ({ stream, type }: Pick<Recorded, "stream" | "type">): boolean =>
  stream.startsWith("$") || type.startsWith("$");

/** Whether another application wrote an event; ours are JSON in a stream name of ours, with our envelope. */
export const isForeign = (
  { stream, metadata }: Readonly<{ stream: string; metadata: unknown }>,
  isJson: boolean,
): boolean => !(isJson && hasEnvelope(metadata) && isStreamName(stream));

type Members = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Members =>
  value !== null && typeof value === "object" && !Array.isArray(value);
const isText = (value: unknown): boolean => typeof value === "string";
const isTextOrNull = (value: unknown): boolean => value === null || isText(value);

/** As far as the envelope is read without being parsed: a log has millions of them. See `EventMetadata`. */
function hasEnvelope(metadata: unknown): boolean {
  if (!isObject(metadata)) return false;
  const { actor, ip, correlationId, causationId, commandId, schemaVersion, occurredAt } = metadata;
  return (
    isObject(actor) &&
    isTextOrNull(actor["userId"]) &&
    isText(actor["via"]) &&
    isText(correlationId) &&
    isText(commandId) &&
    isTextOrNull(causationId) &&
    isTextOrNull(ip) &&
    typeof schemaVersion === "number" &&
    typeof occurredAt === "string" &&
    !Number.isNaN(Date.parse(occurredAt))
  );
}
