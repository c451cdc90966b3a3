import { breather } from "../../platform/breather.ts";

/** Full ref name → object id. */
export type RefState = ReadonlyMap<string, string>;

/** One ref that a push requests git to change; null where there is no ref. */
export type PushedRef = Readonly<{
  pushId: string;
  ref: string;
  before: string | null;
  after: string | null;
  /** Whether git reported the change as made; false until then. */
  done: boolean;
}>;

/** A change that happened, and the push that made it; null when it came from outside. */
export type RefChange<Push extends PushedRef = PushedRef> = Readonly<{
  ref: string;
  before: string | null;
  after: string | null;
  push: Push | null;
}>;

/** Beyond this many changes of one ref at once, the first way that fits is taken. */
const exhaustiveMax = 8;

/**
 * Explains how the refs came from what the log says to what the repository holds. Changes that git
 * confirmed all happened, whatever the refs are now; one it did not confirm happened when the refs
 * show it. What remains came from outside the service.
 *
 * @param recorded refs by the log
 * @param actual the same refs, read after `pushed` was first known to hold the confirmed changes
 * @param pushed changes without an event yet, confirmed ones in the order they were confirmed
 */
export async function explainRefs<Push extends PushedRef>(
  recorded: RefState,
  actual: RefState,
  pushed: readonly Push[],
): Promise<readonly RefChange<Push>[]> {
  const refs = new Set([...recorded.keys(), ...actual.keys(), ...pushed.map(({ ref }) => ref)]);
  const edges = new Map<string, Push[]>();
  for (const push of pushed) {
    if (push.before === push.after) continue;
    const some = edges.get(push.ref);
    if (some === undefined) edges.set(push.ref, [push]);
    else some.push(push);
  }
  const changes: RefChange<Push>[] = [];
  const breathe = breather();
  for (const ref of [...refs].sort()) {
    await breathe();
    const [from, to] = [recorded.get(ref) ?? null, actual.get(ref) ?? null];
    changes.push(...explainRef(ref, from, to, edges.get(ref) ?? []));
  }
  return changes;
}

function explainRef<Push extends PushedRef>(
  ref: string,
  from: string | null,
  to: string | null,
  edges: readonly Push[],
): readonly RefChange<Push>[] {
  const way = bestWay({ at: from, taken: [] }, to, edges, edges.length > exhaustiveMax);
  const changes: RefChange<Push>[] = way.taken.map((push) => ({
    ref,
    before: push.before,
    after: push.after,
    push,
  }));
  if (way.at !== to) changes.push({ ref, before: way.at, after: to, push: null });
  return changes;
}

type Way<Push> = Readonly<{ at: string | null; taken: readonly Push[] }>;

/** Tries the changes one after another, each at most once, where the one before left the ref. */
function bestWay<Push extends PushedRef>(
  way: Way<Push>,
  to: string | null,
  remaining: readonly Push[],
  greedy: boolean,
): Way<Push> {
  let best = way;
  for (const edge of remaining) {
    if (edge.before !== way.at) continue;
    const next = { at: edge.after, taken: [...way.taken, edge] };
    const rest = remaining.filter((other) => other !== edge);
    const found = bestWay(next, to, rest, greedy);
    if (better(found, best, to)) best = found;
    if (greedy) break;
  }
  return best;
}

/** More confirmed changes; then ending where the ref is; then fewer unconfirmed ones. */
function better(one: Way<PushedRef>, other: Way<PushedRef>, to: string | null): boolean {
  const done = count(one, true) - count(other, true);
  if (done !== 0) return done > 0;
  const ends = Number(one.at === to) - Number(other.at === to);
  if (ends !== 0) return ends > 0;
  return count(one, false) < count(other, false);
}

const count = (way: Way<PushedRef>, done: boolean): number =>
  way.taken.filter((edge) => edge.done === done).length;
