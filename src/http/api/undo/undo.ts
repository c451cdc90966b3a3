import { z } from "zod";
import type { Recorded } from "../../../events/core/event.ts";
import { Uuid } from "../../../events/core/ids.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import { invariant } from "../../../platform/invariant.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { type Data, StreamData } from "../../../projections/audit/change.ts";
import type { AuditEntryRow } from "../../../projections/audit/entry.ts";
import { findAuditEntry, listAuditEntries } from "../../../projections/audit/entry-query.ts";
import { auditJson } from "../../../projections/audit/format.ts";
import { readRecorded } from "../../../projections/audit/read-events.ts";
import { toLines } from "../../../projections/audit/trail.ts";
import { type OwnerScope, ownerScopes, parentOf, writingAt } from "../../access/owner-scope.ts";
import type { Deps } from "../../core/deps.ts";
import type { RequestFor } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { AuditEntryView } from "../audit/view.ts";
import { inverses } from "./inverses.ts";
import { mustBeLast, mustNotBeRemade } from "./later.ts";
import { impossible, type Operation, type Undone } from "./operation.ts";
import { reasonFor } from "./reasons.ts";
import { partOf } from "./thing.ts";

type Request = RequestFor<"project:ADMIN"> | RequestFor<"team:ADMIN"> | RequestFor<"company:ADMIN">;

const UndoBody = z.object({ eventId: Uuid }).meta({ id: "Undo" });

function postUndo(ownerScope: OwnerScope): Route {
  return route({
    ...writingAt(ownerScope, "ADMIN"),
    method: "post",
    path: `${ownerScope.base}/undo`,
    operationId: `undoIn${ownerScope.noun}`,
    summary: `Take back one change in a ${ownerScope.resource} by making its opposite`,
    description:
      "It requires the rights of the opposite operation. The answer is the audit entry of what was done, which can " +
      "be undone itself. What cannot be taken back, or not any more: 409 `undo.impossible` with the reason.",
    body: UndoBody,
    reply: AuditEntryView,
    handle: ({ params, body, request }, deps) =>
      undo({ ownerScope, params, request, ...body }, deps),
  });
}

type UndoRequest = Readonly<{
  ownerScope: OwnerScope;
  params: Readonly<Record<string, string>>;
  eventId: string;
  request: Request;
}>;

async function undo({ ownerScope, params, eventId, request }: UndoRequest, deps: Deps) {
  const { db, store, vault } = deps;
  const row = await findAuditEntry(db, eventId);
  const { id: placeId } = parentOf(request);
  if (row === undefined || row.place_id !== placeId) {
    throw new Refusal("not_found", "event.not_found", "No such event happened here.");
  }
  const event = await eventAt(deps, row);
  const operation = await opposite(event, row, { ownerScope, placeId, by: request.userId }, deps);
  await mustNotBeRemade(operation, row, deps);
  const before = (await store.head()) ?? -1n;
  const commandId =
    operation.makes === undefined ? request.commandId : deterministicId("undo", eventId);
  const metadata = async () => ({ ...(await request.metadata()), causationId: eventId, commandId });
  await performed({ ...operation, params: { ...params, ...operation.params } }, deps, {
    ...request,
    commandId,
    metadata,
  });
  // Callers choose the id of their request, so that others may have the same one.
  const filter = { correlationId: request.requestId, placeId };
  const range = { after: before, order: "oldest", limit: 50 } as const;
  const made = await listAuditEntries(db, filter, range);
  const [shown] = made.filter(
    ({ type, causation_id }) => causation_id === eventId && !bookkeeping.has(type),
  );
  if (shown === undefined) throw impossible("It is as it was before already.");
  const [line] = await toLines({ db, store, open: vault.open }, [shown]);
  invariant(line !== undefined, "an entry has a line");
  return auditJson(line);
}

/** What goes along with the opposite and is not it. */
const bookkeeping = new Set(["NameReserved", "NameReleased", "LocalIdAssigned", "HoldingAdded"]);

/** @throws Refusal 409 when there is none, or later events stand in the way */
async function opposite(
  event: Recorded,
  row: AuditEntryRow,
  { ownerScope, placeId, by }: Pick<Undone, "ownerScope" | "placeId" | "by">,
  deps: Deps,
): Promise<Operation> {
  const { db, vault } = deps;
  const inverse = Object.hasOwn(inverses, event.type) ? inverses[event.type] : undefined;
  if (inverse === undefined) {
    throw impossible(reasonFor(event.type) ?? "This kind of change cannot be taken back.");
  }
  await mustBeLast(event, row, deps);
  const undone: Undone = {
    ...{ event, data: event.data, placeId, ownerScope, by, db, open: vault.open },
    before: () => dataBefore(event, deps),
    readAt: (other) => eventAt(deps, other),
  };
  return inverse(undone);
}

async function dataBefore(undone: Recorded, { store }: Deps): Promise<Data> {
  const { stream, revision } = undone;
  const said = new StreamData();
  if (revision === 0n) return said.before(undone);
  for await (const { type, data } of store.readStream(stream, 0n, Number(revision))) {
    // Whatever was edited stands at the top, as it was created.
    said.add({ type, data: { ...data, ...partOf(data, "details") } });
  }
  return said.before(undone);
}

async function eventAt({ store }: Pick<Deps, "store">, row: AuditEntryRow): Promise<Recorded> {
  const event = (await readRecorded(store, [row])).get(row.position);
  invariant(event !== undefined, "an entry of the audit is in the log");
  return event;
}

/** What the opposite refuses is what stands in the way; that it is forbidden stays so. */
async function performed(
  operation: Operation & Readonly<{ params: Readonly<Record<string, unknown>> }>,
  deps: Deps,
  request: Request,
): Promise<void> {
  invariant(deps.perform !== undefined, "the service performs operations");
  try {
    await deps.perform(operation, request, deps);
  } catch (error) {
    const stands = ["bad_request", "conflict", "not_allowed", "not_found", "unprocessable"];
    if (!(error instanceof Refusal) || !stands.includes(error.kind)) throw error;
    throw impossible(error.message, { cause: error.code });
  }
}

export const undoRoutes: readonly Route[] = ownerScopes.map(postUndo);
