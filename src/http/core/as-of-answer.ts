import { Limiter } from "../../platform/limiter.ts";
import { Refusal } from "../../platform/refusal.ts";
import { hadBegun, newestPosition, type Until } from "../../projections/audit/happened.ts";
import { withReadModelsOf } from "../../projections/core/as-of.ts";
import { notCurrent } from "../../projections/core/current.ts";
import { findUserById, findUserNamed, type UserRow } from "../../projections/user/user.ts";
import { atLeast } from "../access/access.ts";
import type { ResolvedCompany, ResolvedProject, ResolvedTeam } from "../access/gate.ts";
import { mustBeFound } from "../access/role-access.ts";
import { type AsOf, wrongAsOf } from "./as-of.ts";
import { eventsAsOf } from "./as-of-events.ts";
import type { Deps } from "./deps.ts";
import type { RequestContext } from "./request.ts";

const entriesMax = 1_000;

/** Each holds a connection and up to `bytesMax` of events. */
const asked = new Limiter(4, 2);

/** What the handler is given. */
export type Then = Readonly<{ params: Params; request: RequestContext; deps: Deps }>;

type Params = Readonly<Record<string, unknown>>;

export type AskedAsOf = Readonly<{
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
  order: AskedAsOf,
  deps: Deps,
  run: (then: Then) => Promise<Result>,
): Promise<Result> {
  return asked.run(async () => {
    const { asOf, until, request, params } = order;
    await mustBePast(until, deps);
    const place = await placeOf(order, deps);
    if (!(await hadBegun(deps.db, place.stream, until))) notThere(place);
    const { kind, id, above } = place;
    const needed = { placeId: id, above, params, includesDeleted: mayReadDeleted(kind, request) };
    const events = await eventsAsOf({ asOf, until, ...needed }, deps);
    const { numbered } = asOf;
    const readModels = [...asOf.readModels, ...(numbered ? [numbered.readModel] : [])];
    const past = { place: id, events, context: { open: deps.vault.open } };
    return withReadModelsOf(deps.db, readModels, past, async (db) => {
      const row = await asOf.again?.(db, id);
      if (asOf.again !== undefined && row === undefined) notThere(place);
      const result = await run({
        params: { ...params, ...place.params },
        request: row === undefined ? request : { ...request, [kind]: row },
        deps: { ...deps, db, past: true },
      });
      mustBeFew(result);
      return result;
    });
  });
}

/** What was deleted since is read by those who may read what happened. */
const mayReadDeleted = (kind: Place["kind"], request: AskedAsOf["request"]): boolean =>
  kind === "user" || atLeast(request.role, "ADMIN");

async function mustBePast(until: Until, { db, now }: Deps): Promise<void> {
  if ((await notCurrent(db, ["audit_entry"])).length > 0) {
    const message = "What happened is not known up to now. Try again.";
    throw new Refusal("unavailable", "projection.not_current", message, { retryAfterSeconds: 5 });
  }
  if ("time" in until) {
    if (until.time > now()) throw wrongAsOf("as_of.future", "This time has not come yet.");
    return;
  }
  const newest = await newestPosition(db);
  if (newest === undefined || until.position > newest) {
    throw wrongAsOf("as_of.future", "The log does not reach this position yet.");
  }
}

type Place = Readonly<{
  kind: "project" | "team" | "company" | "user";
  id: string;
  stream: string;
  /** Ids of the owners above it. */
  above: readonly string[];
  /** In the place of those of the request. */
  params?: Params;
}>;

async function placeOf(
  { asOf: { account }, params, request }: AskedAsOf,
  { db }: Deps,
): Promise<Place> {
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

function notThere({ kind }: Place): never {
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
