import { createHash } from "node:crypto";
import { type Route, route } from "../../core/route.ts";
import { servedSchema, servedTypes, versionOf, withTextsOptional } from "./served-event.ts";

const text = { type: "string" } as const;
const uuid = { type: "string", format: "uuid" } as const;
const nullable = (schema: object) => ({ anyOf: [schema, { type: "null" }] });

const envelope = {
  position: { ...text, description: "Place in the log, for Last-Event-ID and `after`." },
  id: uuid,
  type: text,
  version: { type: "integer", description: "Of the form of this type's data." },
  occurredAt: { type: "string", format: "date-time" },
  actor: {
    type: "object",
    properties: { userId: nullable(uuid), alias: nullable(text) },
    required: ["userId", "alias"],
  },
  placeId: nullable(uuid),
  subject: { type: "object", properties: { kind: text, id: text }, required: ["kind", "id"] },
  correlationId: text,
  causationId: nullable(text),
} as const;

/** JSON Schema (2020-12) of every event type as the feed serves it. */
export function eventsSchema(): object {
  const defs = servedTypes.map((type) => {
    const data = withTextsOptional(servedSchema(type) ?? {});
    const properties = { type: { const: type }, version: { const: versionOf(type) }, data };
    return [type, { properties, required: ["type", "version", "data"] }];
  });
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: "/events/schema.json",
    title: "Events as served",
    description:
      "Fields may be added to a type under the same version; with any other change its version grows. " +
      "Secrets and personal data are not served, and texts and scripts that people wrote to ADMINs alone: " +
      "their fields are left out for others.",
    type: "object",
    properties: envelope,
    required: Object.keys(envelope),
    oneOf: servedTypes.map((type) => ({ $ref: `#/$defs/${type}` })),
    $defs: Object.fromEntries(defs),
  };
}

let made: Readonly<{ body: string; etag: string }> | undefined;

function document() {
  if (made === undefined) {
    const body = JSON.stringify(eventsSchema());
    made = { body, etag: createHash("sha256").update(body).digest("base64url") };
  }
  return made;
}

const getSchema = route({
  method: "get",
  path: "/events/schema.json",
  operationId: "getEventSchema",
  summary: "Get the JSON Schema of every event type as it is served",
  tag: "Events",
  scope: "none",
  access: "anonymous",
  reply: "stream",
  handle: async () => ({ ...document(), type: "application/schema+json" }),
});

export const schemaRoutes: readonly Route[] = [getSchema];
