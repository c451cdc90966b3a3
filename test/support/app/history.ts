import type { AnyEvent, EventMetadata, Recorded } from "../../../src/events/core/event.ts";
import { deterministicId } from "../../../src/platform/deterministic-id.ts";

export const at = "2026-01-02T03:04:05.678Z";

/** An envelope as a write by the system would carry it. */
export function metadataFor(commandId: string, over: Partial<EventMetadata> = {}): EventMetadata {
  return {
    actor: { userId: null, alias: null, via: "system", tokenId: null },
    ip: null,
    correlationId: "test",
    causationId: null,
    commandId,
    schemaVersion: 1,
    occurredAt: at,
    ...over,
  };
}

/** Events as the store would give them back: positions from 1, revisions by stream from 0. */
export function history(...written: readonly (readonly [string, AnyEvent])[]): Recorded[] {
  const revisions = new Map<string, bigint>();
  return written.map(([stream, event], index) => {
    const revision = revisions.get(stream) ?? 0n;
    revisions.set(stream, revision + 1n);
    const id = deterministicId("history", index);
    return {
      ...event,
      id,
      stream,
      revision,
      position: BigInt(index + 1),
      metadata: metadataFor(id),
      recordedAt: new Date(at),
    };
  });
}
