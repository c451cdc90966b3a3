import { z } from "zod";

import type { EventSchemas } from "../core/event.ts";
import { IsoInstant, PackageId, UserId } from "../core/ids.ts";
import { streamName } from "../core/stream.ts";

/** Names that a package gives to some of its versions: `latest`, `next`. */
export const packageTagEvents = {
  PackageTagSet: z.object({
    packageId: PackageId,
    tag: z.string().min(1),
    version: z.string().min(1),
    setById: UserId,
    setAt: IsoInstant,
  }),
  PackageTagRemoved: z.object({
    packageId: PackageId,
    tag: z.string().min(1),
    removedById: UserId,
    removedAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

export const packageStream = (id: string): string => streamName("package", id);
