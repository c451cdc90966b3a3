import { z } from "zod";
import { Refusal } from "../../../platform/refusal.ts";
import { typesOfKind } from "../../../projections/audit/subject.ts";
import { projectScope } from "../../access/owner-scope.ts";
import { mustSuffice } from "../../access/role-access.ts";
import { Streamed } from "../../core/answer.ts";
import type { Deps } from "../../core/deps.ts";
import type { RequestFor } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { int, invalid } from "../../core/schema.ts";
import { Position, Types } from "../audit/query.ts";
import { hubOf } from "./hub.ts";
import { FeedStream } from "./reader.ts";
import { withoutTexts } from "./served-event.ts";
import { type FeedFilter, itemsAfter, newestPosition } from "./source.ts";

const sizeMax = 200;
/** A page ends with the event that brings it there. */
const pageBytesMax = 4 * 1024 ** 2;

const FeedQuery = z.object({
  type: Types.optional().meta({ description: "Event types, by commas." }),
  subject: z.string().max(4_096).optional().meta({ description: "Id of the thing it is about." }),
  after: Position.optional().meta({ description: "Only events above this position." }),
  size: int({ min: 1 })
    .transform((size) => Math.min(size, sizeMax))
    .default(10)
    .meta({ description: `Of a page; served as ${sizeMax} at most.` }),
});

const Event = z
  .object({
    position: z.string(),
    id: z.uuid(),
    type: z.string(),
    version: z.int(),
    occurredAt: z.iso.datetime({ precision: 3 }),
    actor: z.object({ userId: z.uuid().nullable(), alias: z.string().nullable() }),
    placeId: z.uuid().nullable(),
    subject: z.object({ kind: z.string(), id: z.string() }),
    correlationId: z.string(),
    causationId: z.string().nullable(),
    data: z.unknown().meta({ description: "By `type` and `version`: see /events/schema.json." }),
  })
  .meta({ id: "Event" });

const EventList = z
  .object({
    _embedded: z.object({ eventList: z.array(Event) }),
    page: z.object({
      size: z.int(),
      after: z.string().meta({ description: "For the next page, also when this one is empty." }),
    }),
  })
  .meta({ id: "EventList" });

const description =
  "With `Accept: text/event-stream`, or with `Last-Event-ID`: as server-sent events, `id` the position, " +
  "`event` the type, `data` the event, from `Last-Event-ID` (or `after`, else from now) on, without end; a " +
  "last event `end` says why there is one. Otherwise a page after the position, oldest first.";

const shared = {
  method: "get",
  query: FeedQuery,
  reply: EventList,
  alsoAs: ["text/event-stream"],
  tag: "Events",
} as const;

type FeedRequest = Readonly<{
  query: z.output<typeof FeedQuery>;
  request: RequestFor<"user">;
  filter: FeedFilter;
  mustStillMay: () => Promise<void>;
}>;

async function answer({ query, request, filter, mustStillMay }: FeedRequest, deps: Deps) {
  const lastEventId = request.header("last-event-id");
  const streams = request.header("accept").includes("text/event-stream") || lastEventId !== "";
  if (!streams) return page(deps, filter, query);
  const hub = hubOf(deps);
  const requested =
    lastEventId === ""
      ? { field: "after", position: query.after }
      : { field: "Last-Event-ID", position: lastEventId };
  const start = await startOf(deps, requested);
  const { userId: callerId, expiresAt } = request;
  const reading = { hub, deps, filter, after: start, callerId, expiresAt, mustStillMay };
  const stream = new FeedStream(reading);
  await stream.open();
  request.signal.addEventListener("abort", () => stream.destroy(), { once: true });
  if (request.signal.aborted) stream.destroy();
  const headers = { "X-Accel-Buffering": "no" };
  return new Streamed({ body: stream, type: "text/event-stream", headers, untilClose: true });
}

/** @throws Refusal 422 for a position that is none, or that lies ahead */
async function startOf(
  { db }: Pick<Deps, "db">,
  { field, position: requested }: Readonly<{ field: string; position: string | undefined }>,
): Promise<bigint> {
  const newest = await newestPosition(db);
  if (requested === undefined) return newest;
  const position = Position.safeParse(requested);
  if (position.success && BigInt(position.data) <= newest) return BigInt(position.data);
  const message = "The feed has no such position. Give the id of an event that it sent.";
  throw invalid([{ field, code: "feed.position", message }]);
}

async function page(deps: Deps, filter: FeedFilter, { after, size }: z.output<typeof FeedQuery>) {
  const from = after === undefined ? -1n : BigInt(after);
  const range = { after: from, limit: size, bytesMax: pageBytesMax };
  const { items } = await itemsAfter(deps, filter, range);
  const last = items.at(-1)?.position ?? from;
  const all = items.flatMap(({ served }) => served ?? []);
  return {
    _embedded: { eventList: filter.forGuests === true ? all.map(withoutTexts) : all },
    page: { size, after: String(last < 0n ? 0n : last) },
  };
}

const getEvents = route({
  ...shared,
  path: "/events",
  operationId: "listEvents",
  summary: "Follow everything that happens, or read it page by page",
  description,
  scope: "USER_WRITE",
  access: "admin",
  handle: ({ query, request }, deps) => {
    const { mustStillMay } = request;
    return answer({ query, request, filter: filterOf(query), mustStillMay }, deps);
  },
});

/** What everybody who may see a project sees of it elsewhere; administrators see the rest as well. */
const visibleToAll = [
  ...["BRANCH", "COMMIT_REFERENCE", "COMMIT_STATUS", "DISCUSSION", "ISSUE", "ISSUE_COMMENT", "JOB"],
  ...["LABEL", "MEMBER", "MERGE_REQUEST", "PIPELINE", "PROJECT", "RELEASE", "REPOSITORY", "TAG"],
].flatMap(typesOfKind);

const getProjectEvents = route({
  ...shared,
  path: `${projectScope.base}/events`,
  operationId: "listProjectEvents",
  summary: "Follow what happens in a project, or read it page by page",
  description: `${description} What only its ADMINs may read elsewhere, only they get here.`,
  scope: projectScope.read,
  access: "project:GUEST",
  handle: ({ query, request }, deps) => {
    const { project, role, userId } = request;
    const filter = filterOf(query, role === "ADMIN" ? undefined : visibleToAll);
    const mustStillMay = async (): Promise<void> => {
      await request.mustStillMay();
      const found = await hubOf(deps).roleIn(project, userId);
      const now = mustSuffice(found, { resource: "project", role: "GUEST" });
      // Another role sees other events: the client comes back with it.
      if (now !== role) throw rightsChanged();
    };
    // What was deleted or overwritten stays in the log: others read texts as they are now, elsewhere.
    const ownerScopes = { ...filter, placeId: project.id, forGuests: role !== "ADMIN" };
    return answer({ query, request, filter: ownerScopes, mustStillMay }, deps);
  },
});

function rightsChanged(): Refusal {
  const message = "Your role has changed. Go on from the id of this event.";
  return new Refusal("forbidden", "feed.rights_changed", message);
}

function filterOf(
  { type, subject }: z.output<typeof FeedQuery>,
  allowed?: readonly string[],
): FeedFilter {
  const types = allowed?.filter((each) => type === undefined || type.includes(each)) ?? type;
  return { ...(types && { types }), ...(subject !== undefined && { subjectId: subject }) };
}

export const feedRoutes: readonly Route[] = [getEvents, getProjectEvents];
