import type { Recorded } from "../../events/core/event.ts";
import { localIdStream } from "../../events/core/local-id.ts";
import { idInStream } from "../../events/core/stream.ts";
import { Limit } from "../../platform/limit.ts";
import { Refusal } from "../../platform/refusal.ts";
import {
  type Happened,
  happenedIn,
  numbersIn,
  type Until,
} from "../../projections/audit/happened.ts";
import type { Projection } from "../../projections/core/projection.ts";
import { withReadModelsOf } from "../../projections/past/as-of.ts";
import { readCached } from "../../projections/past/cached-events.ts";
import { numberEvent } from "../../projections/past/number-event.ts";
import { inOrder, type PastFold, pastFold } from "../../projections/past/past-fold.ts";
import { findSources, type PastSource, typesOf } from "../../projections/past/snapshot.ts";
import { untilVisible } from "../../projections/progress/visible.ts";
import { findUserById, findUserNamed, type UserRow } from "../../projections/user/user.ts";
import { atLeast } from "../access/access.ts";
import type { ResolvedCompany, ResolvedProject, ResolvedTeam } from "../access/gate.ts";
import { mustBeFound } from "../access/role-access.ts";
import { type AsOf, type AsOfBelow, wrongAsOf } from "./as-of.ts";
import type { Deps } from "./deps.ts";
import type { RequestContext } from "./request.ts";

const entriesMax = 1_000;

/** Each holds a connection and up to `bytesMax` of events. */
const readings = new Limit({ name: "as_of.answers", total: 4, share: 2, whenFull: "wait" });

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
    const read = await readPast({ asOf, until, owner, params }, deps);
    if (read === undefined) notThere(owner);
    const { keep, ...made } = read;
    const { numbered } = asOf;
    const below = numbered?.below ? [numbered.below.readModel] : [];
    const readModels = [...asOf.readModels, ...(numbered ? [numbered.readModel, ...below] : [])];
    const past = { ownerId: id, ...made, context: { open: deps.vault.open } };
    const answer = await withReadModelsOf(deps.db, readModels, past, async (db) => {
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
    await keep();
    return answer;
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
  await untilVisible(visible, head);
  ends.set(store, { position: head, at: at.getTime() });
}

const isBefore = (until: Until, end: Readonly<{ position: bigint; at: number }>): boolean =>
  "position" in until
    ? until.position <= end.position
    : until.time.getTime() < end.at - clockDifferenceMs;

type Owner = PlaceThen &
  Readonly<{
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

/** Whose past it is. */
type PlaceThen = Readonly<{
  kind: "project" | "team" | "company" | "user";
  id: string;
  stream: string;
  /** Ids of the owners above it. */
  above: readonly string[];
}>;

type PastNeeded = Readonly<{
  asOf: AsOf;
  until: Until;
  owner: PlaceThen;
  params: Readonly<Record<string, unknown>>;
}>;

/** What the read models of an answer are made of. */
type PastRead = Readonly<{
  events: readonly Recorded[];
  /** Of the read models that are made by themselves. */
  folds: ReadonlyMap<Projection, PastFold>;
  /** After the answer: writes down what saves time for the next one. */
  keep: () => Promise<void>;
}>;

const eventsMax = 20_000;
const bytesMax = 64 * 1024 ** 2;
const readMaxMs = 15_000;
const countMax = eventsMax + 1;
const theEnd: Until = { position: 2n ** 63n - 1n };

/**
 * Reads what the answer of an operation is made of; undefined when the place was not there yet.
 *
 * @throws Refusal 422 `as_of.too_many`
 */
async function readPast(needed: PastNeeded, deps: Deps): Promise<PastRead | undefined> {
  const { asOf, owner, until, params } = needed;
  const { id: placeId, stream: ownStream } = owner;
  const { db, store } = deps;
  const { numbered } = asOf;
  const alone = asOf.readModels.filter((projection) => isMadeAlone(projection, needed));
  const sources: PastSource[] = alone.map((projection) => ({ projection, placeId }));
  // Read models of what is below a thing take some of its events as well.
  if (numbered !== undefined && numbered.parts === undefined && numbered.below === undefined) {
    const thing = { kind: numbered.kind, localId: Number(params["localId"]) };
    sources.push({ projection: numbered.readModel, placeId, thing });
  }
  const { hadBegun, found } = await findSources(db, ownStream, sources, { until, countMax });
  if (!hadBegun) return undefined;
  const reading = new Reading(deps);
  const number = ({ kind, localId }: NonNullable<PastSource["thing"]>) =>
    numberEvent(kind, placeId, localId, store);
  const options = { db, until, countMax, read: reading.read, number };
  const folds = new Map<Projection, PastFold>();
  for (const [index, source] of sources.entries()) {
    const fold = await pastFold(source, found[index] ?? nothingFound, options);
    // The handler finds nothing then, and answers with its own refusal.
    if (fold !== undefined) folds.set(source.projection, fold);
  }
  const types = typesOf(asOf.readModels.filter((projection) => !alone.includes(projection)));
  const above = asOf.above === true ? await aboveSince(owner, until, deps) : [];
  for (const id of [placeId, ...above]) {
    await reading.add(await happenedIn(db, { placeId: id, types, until, countMax }));
  }
  for (const kind of asOf.numbers ?? []) {
    const stream = localIdStream(kind, placeId);
    await reading.add(await numbersIn(db, stream, { until, countMax }));
  }
  if (numbered !== undefined && sources.length === alone.length) {
    await readNumbered(numbered, needed, reading, deps);
  }
  const keep = async (): Promise<void> => {
    for (const each of folds.values()) await each.keep();
  };
  return { events: reading.inOrder(), folds, keep };
}

const nothingFound = { snapshot: undefined, happened: [] };

/** What belongs to accounts is not written down a second time. */
const isMadeAlone = ({ types }: Projection, { asOf, owner }: PastNeeded): boolean =>
  owner.kind !== "user" &&
  asOf.above !== true &&
  !(asOf.numbers !== undefined && types.has("LocalIdAssigned"));

async function readNumbered(
  { kind, readModel, parts: partsOf, below }: NonNullable<AsOf["numbered"]>,
  { owner: { id: placeId }, until, params }: PastNeeded,
  reading: Reading,
  deps: Deps,
): Promise<void> {
  const number = await numberEvent(kind, placeId, Number(params["localId"]), deps.store);
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

/** The owners above a place, unless it had another one then: what those had handed down is not read. */
async function aboveSince(
  { id, above }: PlaceThen,
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

/** Of all that is or was below a thing; undefined when only reading what is below all of the place decides it. */
async function idsBelow(
  { idsOf, removed: { type, field } }: AsOfBelow,
  { placeId, id }: Readonly<{ placeId: string; id: string }>,
  deps: Deps,
): Promise<readonly string[] | undefined> {
  const ids = await idsOf(deps.db, id);
  if (ids === undefined) return undefined;
  const removals = { placeId, types: [type], until: theEnd, countMax };
  const removalEvents = await new Reading(deps).add(await happenedIn(deps.db, removals));
  const own = removalEvents.filter(({ data }) => data[field] === id);
  return [...ids, ...own.map(({ stream }) => idInStream(stream))];
}

/** Reads events, and gives up as soon as they are more than one answer may take. */
class Reading {
  readonly events: Recorded[] = [];
  readonly #deps: Deps;
  readonly #startedAt = performance.now();
  #count = 0;
  #bytes = 0;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** For who applies them by themselves. */
  readonly read = async (happened: readonly Happened[]): Promise<readonly Recorded[]> => {
    this.#count += happened.length;
    if (this.#count > eventsMax) throw tooMuch();
    const read: Recorded[] = [];
    await readCached(this.#deps.store, happened, ({ event, bytes }) => {
      this.#bytes += bytes;
      const isSlow = performance.now() - this.#startedAt > readMaxMs;
      if (this.#bytes > bytesMax || isSlow) throw tooMuch();
      read.push(event);
    });
    return read;
  };

  async add(happened: readonly Happened[]): Promise<readonly Recorded[]> {
    const added = await this.read(happened);
    this.events.push(...added);
    return added;
  }

  inOrder(): readonly Recorded[] {
    // Some types are of two read models.
    return inOrder([...new Map(this.events.map((event) => [event.position, event])).values()]);
  }
}

const tooMuch = () =>
  wrongAsOf(
    "as_of.too_many",
    `More than ${eventsMax} events would have to be read for this answer.`,
  );
