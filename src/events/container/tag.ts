import { z } from "zod";

import type { EventSchemas } from "../core/event.ts";
import { IsoInstant, PackageId, UserId } from "../core/ids.ts";
import { streamName } from "../core/stream.ts";

/** Names that an image gives to manifests. Each is a stream: an image may have a million. */
export const containerTagEvents = {
  ContainerTagSet: z.object({
    packageId: PackageId,
    tag: z.string().min(1),
    /** Of a manifest, `sha256:…`. */
    digest: z.string().min(1),
    setById: UserId,
    setAt: IsoInstant,
  }),
  ContainerTagRemoved: z.object({
    packageId: PackageId,
    tag: z.string().min(1),
    removedById: UserId,
    removedAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

export const containerTagStream = (id: string): string => streamName("containerTag", id);
