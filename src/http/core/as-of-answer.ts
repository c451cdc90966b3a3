import type { Recorded } from "../../events/core/event.ts";
import { type LocalIdKind, localIdStream } from "../../events/core/local-id.ts";
import { idInStream } from "../../events/core/stream.ts";
import { Limiter } from "../../platform/limiter.ts";
import { Refusal } from "../../platform/refusal.ts";
import {
  type Happened,
  hadBegun,
  happenedIn,
  numbersIn,
  type Until,
} from "../../projections/audit/happened.ts";
import { findKept, readKept } from "../../projections/audit/kept-events.ts";
import { withReadModelsOf } from "../../projections/core/as-of.ts";
import type { Projection } from "../../projections/core/projection.ts";
import { findUserById, findUserNamed, type UserRow } from "../../projections/user/user.ts";
import { atLeast } from "../access/access.ts";
import type { ResolvedCompany, ResolvedProject, ResolvedTeam } from "../access/gate.ts";
import { mustBeFound } from "../access/role-access.ts";
import { type AsOf, type AsOfBelow, wrongAsOf } from "./as-of.ts";
import type { Deps } from "./deps.ts";
import type { RequestContext } from "./request.ts";

const entriesMax = 1_000;

/** Each holds a connection and up to `bytesMax` of events. */
const readings = new Limiter(4, 2);

/** What the handler is given. */
export type Then = Readonly<{ params: Params; request: RequestContext; deps: Deps }>;

type Params = Readonly<Record<string, unknown>>;

export type AsOfRequest = Readonly<{
  asOf: AsOf;
  until: Until;
  params: Params;
  request: RequestContext & Partial<Resolved>;
}>;

/**
 * Runs a handler against the read models as they were. The caller's rights were checked by those of today.
 *
 * @throws Refusal 422 for what lies in the future or is too much; 404 when there was no such thing yet
 */
export function answerAsOf<Result>(
  order: AsOfRequest,
  deps: Deps,
  run: (then: Then) => Promise<Result>,
): Promise<Result> {
  return readings.run(async () => {
    const { asOf, until, request, params } = order;
    request.signal.throwIfAborted();
    const owner = await ownerOf(order, deps);
    mustReadPast(owner, request);
    await mustBePast(until, deps);
    const { kind, id } = owner;
    const reading = eventsAsOf({ asOf, until, owner, params }, deps);
    // Both reads run at once; that the place did not exist yet is reported before a failure to read.
    reading.catch(() => undefined);
    if (!(await hadBegun(deps.db, owner.stream, until))) notThere(owner);
    const events = await reading;
    const { numbered } = asOf;
    const below = numbered?.below ? [numbered.below.readModel] : [];
    const readModels = [...asOf.readModels, ...(numbered ? [numbered.readModel, ...below] : [])];
    const past = { ownerId: id, events, context: { open: deps.vault.open } };
    return withReadModelsOf(deps.db, readModels, past, async (db) => {
      const row = await asOf.again?.(db, id);
      if (asOf.again !== undefined && row === undefined) notThere(owner);
      const result = await run({
        params: { ...params, ...owner.params },
        request: row === undefined ? request : { ...request, [kind]: row },
        deps: { ...deps, db, store: { ...deps.store, append: neverWritten }, past: true },
      });
      if (asOf.anyLength !== true) mustBeFew(result);
      return result;
    });
  });
}

/**
 * What was overwritten, deleted or taken back since is there to be read: as in the feed and the audit, that is
 * for ADMINs of the place, and of an account for its person.
 *
 * @throws Refusal 403
 */
function mustReadPast({ kind, id }: Owner, request: AsOfRequest["request"]): void {
  const may =
    kind === "user" ? request.isAdmin || request.userId === id : atLeast(request.role, "ADMIN");
  if (may) return;
  const message = "The past of a place is for its ADMINs, that of an account for its person.";
  throw new Refusal("forbidden", "as_of.forbidden", message);
}

const neverWritten = (): Promise<never> =>
  Promise.reject(new Error("a handler that answers of the past appends"));

/** The end of the log when it was read last, which the read models have passed since. */
const ends = new WeakMap<Deps["store"], Readonly<{ position: bigint; at: number }>>();

/** Clocks of processes that append differ by less. */
const clockDifferenceMs = 1_000;

/** @throws Refusal 422; 503 when the read models do not get so far in time */
async function mustBePast(until: Until, { store, now, visible }: Deps): Promise<void> {
  const at = now();
  if ("time" in until && until.time > at) {
    throw wrongAsOf("as_of.future", "This time has not come yet.");
  }
  const end = ends.get(store);
  if (end !== undefined && isBefore(until, end)) return;
  const head = await store.head();
  if ("position" in until && (head === undefined || until.position > head)) {
    throw wrongAsOf("as_of.future", "The log does not reach this position yet.");
  }
  if (head === undefined) return;
  await visible(head);
  ends.set(store, { position: head, at: at.getTime() });
}

const isBefore = (until: Until, end: Readonly<{ position: bigint; at: number }>): boolean =>
  "position" in until
    ? until.position <= end.position
    : until.time.getTime() < end.at - clockDifferenceMs;

/** The owners above a place, unless it had another one then: what those had handed down is not read. */
async function aboveSince(
  { id, above }: Owner,
  until: Until,
  { db }: Deps,
): Promise<readonly string[]> {
  const types = ["ProjectTransferred", "TeamTransferred"];
  const transfers = async (placeId: string, last: Until) =>
    (await happenedIn(db, { placeId, types, until: last, countMax })).length;
  for (const placeId of [id, ...above]) {
    if ((await transfers(placeId, until)) !== (await transfers(placeId, theEnd))) return [];
  }
  return above;
}

type Owner = Readonly<{
  kind: "project" | "team" | "company" | "user";
  id: string;
  stream: string;
  /** Ids of the owners above it. */
  above: readonly string[];
  /** In the place of those of the request. */
  params?: Params;
}>;

async function ownerOf(
  { asOf: { account }, params, request }: AsOfRequest,
  { db }: Deps,
): Promise<Owner> {
  for (const kind of ["project", "team", "company"] as const) {
    const row = request[kind];
    if (row === undefined) continue;
    const owners = [row.owner_id, "owner_company_id" in row ? row.owner_company_id : null];
    const above = [...new Set(owners)].filter((id) => id !== null);
    return { kind, id: row.id, stream: `${kind}-${row.id}`, above };
  }
  const user = await accountOf(account, params, request.userId, db);
  // What was forgotten stays forgotten.
  if (user === undefined || user.forgotten_at !== null) throw userNotFound();
  const { id } = user;
  // The alias may have been another one then.
  const named = typeof account === "object" && { params: { [account.param]: id } };
  return { kind: "user", id, stream: `user-${id}`, above: [], ...named };
}

async function accountOf(
  account: AsOf["account"],
  params: Params,
  callerId: string | null,
  db: Deps["db"],
): Promise<UserRow | undefined> {
  if (typeof account === "object") return findUserNamed(db, String(params[account.param]));
  return callerId === null ? undefined : findUserById(db, callerId);
}

type Resolved = ResolvedProject & ResolvedTeam & ResolvedCompany;

function notThere({ kind }: Owner): never {
  if (kind === "user") throw userNotFound();
  return mustBeFound<never>(undefined, kind);
}

const userNotFound = () => new Refusal("not_found", "user.not_found", "User not found.");

function mustBeFew(result: unknown): void {
  if (result === null || typeof result !== "object" || !("totalElements" in result)) return;
  if (Number(result.totalElements) <= entriesMax) return;
  throw wrongAsOf(
    "as_of.too_many",
    `Lists of the past have at most ${entriesMax} entries; this one has more.`,
  );
}

const eventsMax = 20_000;
const bytesMax = 64 * 1024 ** 2;
const readMaxMs = 15_000;

type EventsOf = Readonly<{
  asOf: AsOf;
  until: Until;
  owner: Owner;
  params: Params;
}>;

/**
 * What the answer of an operation is made of, in the order of the log.
 *
 * @throws Refusal 422 `as_of.too_many`
 */
async function eventsAsOf(needed: EventsOf, deps: Deps): Promise<readonly Recorded[]> {
  const { asOf, owner, until } = needed;
  const { id: placeId } = owner;
  const above = asOf.above === true ? await aboveSince(owner, until, deps) : [];
  const reading = new Reading(deps);
  for (const id of [placeId, ...above]) {
    const types = typesOf(asOf.readModels);
    await reading.add(await happenedIn(deps.db, { placeId: id, types, until, countMax }));
  }
  for (const kind of asOf.numbers ?? []) {
    const stream = localIdStream(kind, placeId);
    await reading.add(await numbersIn(deps.db, stream, { until, countMax }));
  }
  await readNumbered(needed, reading, deps);
  return reading.inOrder();
}

const countMax = eventsMax + 1;
const theEnd: Until = { position: 2n ** 63n - 1n };

async function readNumbered(
  { asOf: { numbered }, owner: { id: placeId }, until, params }: EventsOf,
  reading: Reading,
  deps: Deps,
): Promise<void> {
  if (numbered === undefined) return;
  const { kind, readModel, parts: partsOf, below } = numbered;
  const number = await numberEvent(kind, placeId, Number(params["localId"]), deps);
  // The handler finds nothing then, and answers with its own refusal.
  if (number === undefined) return;
  const subjectIds = [String(number.data["subjectId"])];
  const about = { placeId, types: typesOf([readModel]), until, countMax };
  const own = await reading.add(await happenedIn(deps.db, { ...about, subjectIds }));
  const parts = own.flatMap((event) => partsOf?.(event) ?? []);
  if (parts.length > 0) {
    await reading.add(await happenedIn(deps.db, { ...about, subjectIds: parts }));
  }
  if (below !== undefined) {
    const types = typesOf([below.readModel]);
    const found = await idsBelow(below, { placeId, id: String(number.data["subjectId"]) }, deps);
    const filter = { placeId, types, until, countMax, ...(found && { subjectIds: found }) };
    await reading.add(await happenedIn(deps.db, filter));
  }
  reading.events.push(number);
}

/** Of all that is or was below a thing; undefined when only reading what is below all of the place decides it. */
async function idsBelow(
  { idsOf, removed: { type, field } }: AsOfBelow,
  { placeId, id }: Readonly<{ placeId: string; id: string }>,
  deps: Deps,
): Promise<readonly string[] | undefined> {
  const ids = await idsOf(deps.db, id);
  if (ids === undefined) return undefined;
  const removals = { placeId, types: [type], until: theEnd, countMax };
  const gone = await new Reading(deps).add(await happenedIn(deps.db, removals));
  const own = gone.filter(({ data }) => data[field] === id);
  return [...ids, ...own.map(({ stream }) => idInStream(stream))];
}

/** Numbers are read from their own streams: a project gives others to pipelines and jobs. */
const typesOf = (readModels: readonly Projection[]): readonly string[] =>
  [...new Set(readModels.flatMap(({ types }) => [...types]))].filter(
    (type) => type !== "LocalIdAssigned",
  );

/** Numbers have no gaps, so the number says where in its stream it was given. */
async function numberEvent(
  kind: LocalIdKind,
  projectId: string,
  localId: number,
  { store }: Deps,
): Promise<Recorded | undefined> {
  const stream = localIdStream(kind, projectId);
  return localId < 1 ? undefined : findKept(store, stream, BigInt(localId - 1));
}

/** Reads events, and gives up as soon as they are more than one answer may take. */
class Reading {
  readonly events: Recorded[] = [];
  readonly #deps: Deps;
  readonly #startedAt = performance.now();
  #bytes = 0;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  async add(happened: readonly Happened[]): Promise<readonly Recorded[]> {
    if (this.events.length + happened.length > eventsMax) throw tooMuch();
    const added: Recorded[] = [];
    await readKept(this.#deps.store, happened, ({ event, bytes }) => {
      this.#bytes += bytes;
      const isSlow = performance.now() - this.#startedAt > readMaxMs;
      if (this.#bytes > bytesMax || isSlow) throw tooMuch();
      added.push(event);
    });
    this.events.push(...added);
    return added;
  }

  inOrder(): readonly Recorded[] {
    // Some types are of two read models.
    const all = new Map(this.events.map((event) => [event.position, event]));
    return [...all.values()].sort((a, b) => (a.position < b.position ? -1 : 1));
  }
}

const tooMuch = () =>
  wrongAsOf(
    "as_of.too_many",
    `More than ${eventsMax} events would have to be read for this answer.`,
  );
