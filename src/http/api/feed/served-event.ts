import { z } from "zod";
import { slices } from "../../../events/all.ts";
import { decode } from "../../../events/core/decode.ts";
import type { EventSchemas, Recorded } from "../../../events/core/event.ts";
import { Sealed } from "../../../events/core/sealed.ts";
import { upcast } from "../../../events/core/upcast.ts";
import { kindOf, subjectId } from "../../../projections/audit/subject.ts";
import { isSchema, type JsonSchema } from "../../core/json-schema.ts";

const stored: EventSchemas = Object.assign({}, ...Object.values<EventSchemas>(slices));

export const servedTypes: readonly string[] = Object.keys(stored).sort();

/** Raised with every change of what is served that clients may stumble over; 1 when not named. */
const versions: Readonly<Record<string, number>> = { MergeRequestEdited: 2 };

export const versionOf = (type: string): number => versions[type] ?? 1;

/** Secrets, what identifies a person, and fields that may hold either are not served. A mere `digest` is public. */
const withheld = /password|secret|^variables$|challenge|(?:Hash|.Digests?)$/i;

/**
 * The schema of an event type's data as it is served: that of the stored form without what is sealed,
 * secret or of no known form. The versions in this file and test/http/api/feed/served-forms.json keep it from
 * changing with the stored form unnoticed.
 */
export function servedSchema(type: string): JsonSchema | undefined {
  const known = schemas.get(type);
  const schema = Object.hasOwn(stored, type) ? stored[type] : undefined;
  if (known !== undefined || schema === undefined) return known;
  const options = { io: "output", unrepresentable: "any", reused: "inline" } as const;
  const written = z.toJSONSchema(schema, options) as JsonSchema;
  const made = cleaned(written) ?? { type: "object", properties: {} };
  schemas.set(type, made);
  return made;
}

/** Made at the first request: all of them take a noticeable time. */
const schemas = new Map<string, JsonSchema>();

const sealedPattern = (z.toJSONSchema(Sealed) as JsonSchema)["pattern"];

/** Undefined: nothing of it is served. */
function cleaned(schema: JsonSchema): JsonSchema | undefined {
  const { $schema: _, ...rest } = schema;
  if (rest["pattern"] === sealedPattern) return undefined;
  const alternatives = rest["anyOf"] ?? rest["oneOf"];
  if (Array.isArray(alternatives)) {
    const kept: JsonSchema[] = alternatives
      .filter(isSchema)
      .map(cleaned)
      .filter((one) => one !== undefined);
    return kept.some((one) => one["type"] !== "null") ? { anyOf: kept } : undefined;
  }
  if (isSchema(rest["properties"])) return cleanedObject(rest, rest["properties"]);
  if (rest["type"] === "array") {
    const items = isSchema(rest["items"]) ? cleaned(rest["items"]) : undefined;
    return items && { type: "array", items };
  }
  if (rest["type"] === "object") {
    const values = rest["additionalProperties"];
    const kept = isSchema(values) ? cleaned(values) : undefined;
    return kept && { type: "object", additionalProperties: kept };
  }
  if (rest["type"] === undefined && rest["const"] === undefined && rest["enum"] === undefined) {
    return undefined;
  }
  // A format says what its long pattern says.
  const noise = (key: string): boolean => key === "pattern" || /^(?:min|max)imum$/.test(key);
  return Object.fromEntries(Object.entries(rest).filter(([key]) => !noise(key)));
}

function cleanedObject({ required }: JsonSchema, properties: JsonSchema): JsonSchema {
  const kept = Object.entries(properties).flatMap(([name, schema]) => {
    const clean = withheld.test(name) || !isSchema(schema) ? undefined : cleaned(schema);
    return clean === undefined ? [] : [[name, clean] as const];
  });
  const names = new Set(kept.map(([name]) => name));
  const needed = Array.isArray(required) ? required.filter((name) => names.has(name)) : [];
  return { type: "object", properties: Object.fromEntries(kept), required: needed };
}

/** What the schema names of a value, and nothing else; null for what is sealed. */
function served(schema: JsonSchema, value: unknown): unknown {
  if (typeof value === "string") return Sealed.safeParse(value).success ? null : value;
  if (value === null || typeof value !== "object") return value;
  const { anyOf, properties, additionalProperties, items } = schema;
  if (Array.isArray(anyOf)) {
    const fitting = anyOf.filter(isSchema).filter(({ type }) => fits(type, value));
    return merged(fitting.map((one) => served(one, value)));
  }
  if (Array.isArray(value)) return value.map((item) => served(isSchema(items) ? items : {}, item));
  const fields = Object.entries(value).flatMap(([name, inner]) => {
    const known = isSchema(properties) ? properties[name] : additionalProperties;
    return isSchema(known) ? [[name, served(known, inner)]] : [];
  });
  return Object.fromEntries(fields);
}

const fits = (type: unknown, value: object): boolean =>
  type === (Array.isArray(value) ? "array" : "object");

/** Of alternatives, what any of them names. */
function merged(values: readonly unknown[]): unknown {
  if (values.some(Array.isArray)) return values.find(Array.isArray);
  return Object.assign({}, ...values);
}

/**
 * Texts that people wrote, which they may have deleted or overwritten since, and the scripts of jobs: of a
 * project, its ADMINs alone are served them. Numbers of such a name are counts, and stay.
 */
const written =
  /^(?:previous|previousDetails|details|note|title|description|spec|jobs|\w*[mM]essages?)$/;

const isCount = (value: unknown): boolean =>
  typeof value === "number" || typeof value === "boolean";

/** The same event where its data has no text that people wrote. */
export function withoutTexts(event: ServedEvent): ServedEvent {
  const data = bare(event.data);
  return data === event.data ? event : { ...event, data };
}

/** The same value where nothing had to go. */
function bare(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map(bare);
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  const before = Object.entries(value);
  const after = before
    .filter(([name, inner]) => isCount(inner) || !written.test(name))
    .map(([name, inner]) => [name, bare(inner)] as const);
  const same =
    after.length === before.length && after.every(([, inner], at) => inner === before[at]?.[1]);
  return same ? value : Object.fromEntries(after);
}

/** The schema of what `withoutTexts` may have taken something from. */
export function withTextsOptional(schema: JsonSchema): JsonSchema {
  const { anyOf, properties, items, additionalProperties, required } = schema;
  const inner = (one: unknown): unknown => (isSchema(one) ? withTextsOptional(one) : one);
  return {
    ...schema,
    ...(Array.isArray(anyOf) && { anyOf: anyOf.map(inner) }),
    ...(isSchema(items) && { items: inner(items) }),
    ...(isSchema(additionalProperties) && { additionalProperties: inner(additionalProperties) }),
    ...(isSchema(properties) && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, one]) => [name, inner(one)]),
      ),
    }),
    ...(Array.isArray(required) && { required: required.filter((name) => !written.test(name)) }),
  };
}

export type ServedEvent = Readonly<{
  position: string;
  id: string;
  type: string;
  version: number;
  occurredAt: string;
  actor: Readonly<{ userId: string | null; alias: string | null }>;
  /** The project, team, company or account it belongs to. */
  placeId: string | null;
  subject: Readonly<{ kind: string; id: string }>;
  correlationId: string;
  causationId: string | null;
  data: unknown;
}>;

/** The event as clients get it; undefined for one of a type that this version does not know. */
export function serveEvent(recorded: Recorded, placeId: string | null): ServedEvent | undefined {
  const current = upcast(recorded).type;
  const schema = servedSchema(current);
  if (schema === undefined) return undefined;
  const event = decode(stored, recorded) as Recorded;
  const { id, type, metadata, position } = event;
  const { actor, occurredAt, correlationId, causationId } = metadata;
  return {
    position: String(position),
    id,
    type,
    version: versionOf(type),
    occurredAt,
    actor: { userId: actor.userId, alias: actor.alias },
    placeId,
    subject: { kind: kindOf(type), id: subjectId(event) },
    correlationId,
    causationId,
    data: served(schema, event.data),
  };
}
