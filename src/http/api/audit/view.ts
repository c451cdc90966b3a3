import { z } from "zod";
import { Via } from "../../../events/core/event.ts";

const ChangeView = z
  .object({
    field: z.string(),
    before: z.unknown().optional(),
    after: z.unknown().optional(),
  })
  .meta({
    id: "AuditChange",
    description: "`before` or `after` is left out where there was, or is, nothing.",
  });

export const AuditEntryView = z
  .object({
    position: z.string().meta({ description: "Place in the log.", examples: ["4711"] }),
    eventId: z.uuid(),
    type: z.string().meta({ examples: ["ProjectVisibilityChanged"] }),
    occurredAt: z.iso.datetime({ precision: 3 }),
    actor: z.object({
      userId: z
        .uuid()
        .nullable()
        .meta({ description: "Null for the system, agents and strangers." }),
      alias: z.string().nullable().meta({ description: "As it was then." }),
      via: Via,
    }),
    tokenName: z
      .string()
      .nullable()
      .meta({ description: "Of a token, an OAuth application or an agent." }),
    ip: z
      .string()
      .nullable()
      .meta({ examples: ["192.0.2.7"] }),
    stream: z.string(),
    subject: z.object({ kind: z.string(), id: z.string(), title: z.string().nullable() }),
    changes: z.array(ChangeView),
    correlationId: z.string().meta({ description: "Request that it followed from." }),
    causationId: z.string().nullable().meta({ description: "Event that caused it." }),
  })
  .meta({ id: "AuditEntry" });

const Cursor = z
  .object({
    size: z.int(),
    before: z.string().nullable().meta({ description: "For the next older page; null: none." }),
    after: z.string().nullable().meta({ description: "For what comes later." }),
  })
  .meta({ id: "Cursor" });

export const AuditEntryList = z
  .object({ _embedded: z.object({ auditEntryList: z.array(AuditEntryView) }), page: Cursor })
  .meta({ id: "AuditEntryList" });
