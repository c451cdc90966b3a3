import type { EventMetadata } from "./event.ts";

type Step = Readonly<{
  /** Doing the same again under it writes nothing. */
  commandId: string;
  /** The command that began the chain; `commandId` by default. */
  correlationId?: string;
  /** Id of the event that it follows from. */
  causationId?: string;
}>;

/** The envelope of what the system does by itself. @param occurredAt ISO instant */
export function bySystem(
  { commandId, correlationId = commandId, causationId }: Step,
  occurredAt: string,
): EventMetadata {
  return {
    actor: { userId: null, alias: null, via: "system", tokenId: null },
    ip: null,
    correlationId,
    causationId: causationId ?? null,
    commandId,
    schemaVersion: 1,
    occurredAt,
  };
}
