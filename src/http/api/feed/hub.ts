import { type Hold, Limit } from "../../../platform/limit.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { indexable } from "../../../projections/audit/subject.ts";
import { type ProjectScope, projectRole } from "../../../projections/team/member-role.ts";
import type { Role } from "../../access/access.ts";
import { type CachedQuery, cachedQuery } from "../../core/cached-query.ts";
import type { Deps } from "../../core/deps.ts";
import { type FeedFilter, type FeedItem, itemsAfter, newestPosition } from "./source.ts";

/** Callbacks of a reader of the feed. */
export type FeedReader = Readonly<{
  /** There may be something new. */
  wake: () => void;
  /** Nothing came for a while. */
  beat: () => void;
  /** In milliseconds since 1970; infinite when the caller's authentication does not expire. */
  expiresAtMs: number;
  /** The caller's authentication has expired. */
  expire: () => void;
  /** The process is about to end. */
  end: () => void;
}>;

export type HubDeps = Pick<Deps, "db" | "store" | "log" | "onChange" | "onPosition" | "now">;

/** Kept in memory for all readers together, however many there are. */
const keptItemsMax = 4_096;
const keptCharactersMax = 16 * 1024 ** 2;
const pageItemsMax = 500;
const pageBytesMax = 4 * 1024 ** 2;
const beatMs = 15_000;
/** Rights are checked with each beat, in steps: a check for all readers at once would delay new events. */
const beatSteps = 60;
const retryMs = 1_000;
/** Characters that one reader is handed at a time. */
const handedCharactersMax = 64 * 1024;
const readersMax = 5_000;
const readersShare = 32;

/**
 * The newest events, read once for all readers of this process. It follows the log only while
 * there is a reader.
 */
export class FeedHub {
  readonly #deps: HubDeps;
  readonly #keptItemsMax: number;
  /** With the step of the beat that is theirs: readers of one caller share it, and what their rights say. */
  readonly #readers = new Map<FeedReader, Readonly<{ step: number; hold: Hold }>>();
  readonly #roles: CachedQuery<Role>;
  readonly #places = new Limit({
    name: "feed.readers",
    total: readersMax,
    share: readersShare,
    whenFull: "refuse",
    refusal: tooMany,
  });
  #kept: FeedItem[] = [];
  #characters = 0;
  /** Everything after it, up to `upTo`, is kept. */
  #from = -1n;
  #upTo = -1n;
  #starting: Promise<void> | undefined;
  #pumping = false;
  /** A position was passed while the last page was read. */
  #again = false;
  #beat: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;
  /** Grows with every change that may have taken a right from a reader. */
  rightsEpoch = 0;

  constructor(deps: HubDeps, limits: Readonly<{ keptItemsMax?: number }> = {}) {
    this.#deps = deps;
    this.#keptItemsMax = limits.keptItemsMax ?? keptItemsMax;
    deps.onPosition(() => void this.#pump());
    deps.onChange((subject) => {
      if (subject === "jobs" || subject === "settings") return;
      this.rightsEpoch += 1;
      this.#roles.forget();
    });
    this.#roles = cachedQuery((key) => {
      const [project, userId] = JSON.parse(key) as readonly [ProjectScope, string];
      return projectRole(deps.db, project, userId);
    });
  }

  /** The role of a caller in a project, queried once for all that they read. */
  roleIn(project: ProjectScope, userId: string): Promise<Role | undefined> {
    const { id, owner_id, owner_user_id, owner_company_id, is_private } = project;
    const place = { id, owner_id, owner_user_id, owner_company_id, is_private };
    return this.#roles.get(JSON.stringify([place, userId]));
  }

  get upTo(): bigint {
    return this.#upTo;
  }

  /** @throws Refusal 429 `feed.too_many` */
  async join(reader: FeedReader, callerId: string): Promise<void> {
    const hold = this.#places.take(1, { caller: callerId });
    this.#readers.set(reader, { step: stepOf(callerId), hold });
    try {
      this.#starting ??= this.#start();
      await this.#starting;
    } catch (error) {
      this.leave(reader);
      throw error;
    }
    // What came while it started was announced to nobody.
    void this.#pump();
  }

  leave(reader: FeedReader): void {
    this.#readers.get(reader)?.hold.leave();
    if (!this.#readers.delete(reader)) return;
    if (this.#readers.size > 0) return;
    clearInterval(this.#beat);
    clearTimeout(this.#retry);
    this.#starting = undefined;
    this.#kept = [];
    this.#characters = 0;
  }

  endAll(): void {
    for (const reader of [...this.#readers.keys()]) reader.end();
  }

  /** Whether everything after a position is kept. */
  covers(position: bigint): boolean {
    return position >= this.#from;
  }

  /** What fits after a covered position, as far as it is handed out at a time, and where that ends. */
  after(position: bigint, textOf: (item: FeedItem) => string): { text: string; upTo: bigint } {
    let text = "";
    for (let index = this.#indexAfter(position); index < this.#kept.length; index += 1) {
      const item = this.#kept[index];
      if (item === undefined) break;
      text += textOf(item);
      if (text.length >= handedCharactersMax) return { text, upTo: item.position };
    }
    return { text, upTo: this.#upTo > position ? this.#upTo : position };
  }

  #indexAfter(position: bigint): number {
    // Nearly every reader has all but the newest.
    const newest = this.#kept.length - 1;
    if ((this.#kept[newest - 1]?.position ?? position + 1n) <= position) {
      return (this.#kept[newest]?.position ?? 0n) > position ? newest : newest + 1;
    }
    let [low, high] = [0, this.#kept.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#kept[middle]?.position ?? 0n) > position) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  async #start(): Promise<void> {
    this.#upTo = await newestPosition(this.#deps.db);
    this.#from = this.#upTo;
    clearInterval(this.#beat);
    let step = 0;
    this.#beat = setInterval(() => {
      step = (step + 1) % beatSteps;
      const now = this.#deps.now().getTime();
      for (const [reader, { step: own }] of this.#readers) {
        if (reader.expiresAtMs < now) reader.expire();
        else if (own === step) reader.beat();
      }
    }, beatMs / beatSteps);
    this.#beat.unref();
  }

  async #pump(): Promise<void> {
    this.#again = true;
    if (this.#pumping || this.#starting === undefined) return;
    this.#pumping = true;
    const { log } = this.#deps;
    try {
      await this.#starting;
      do {
        this.#again = false;
        while (await this.#pumpPage());
      } while (this.#again && this.#readers.size > 0);
    } catch (error) {
      log.warn({ err: error }, "the feed cannot read the log, trying again");
      this.#retry = setTimeout(() => void this.#pump(), retryMs);
      this.#retry.unref();
    } finally {
      this.#pumping = false;
    }
  }

  /** @returns whether there may be more */
  async #pumpPage(): Promise<boolean> {
    const started = this.#starting;
    const range = { after: this.#upTo, limit: pageItemsMax, bytesMax: pageBytesMax };
    const { items, isWhole } = await itemsAfter(this.#deps, {}, range);
    const last = items.at(-1);
    // All may have left while it was read, and others come: they begin elsewhere.
    if (last === undefined || started === undefined || this.#starting !== started) return false;
    for (const item of items) {
      this.#kept.push(item);
      this.#characters += charactersOf(item);
    }
    this.#upTo = last.position;
    this.#forget();
    for (const reader of this.#readers.keys()) reader.wake();
    return !isWhole;
  }

  #forget(): void {
    let count = Math.max(0, this.#kept.length - this.#keptItemsMax);
    for (const item of this.#kept.slice(0, count)) this.#characters -= charactersOf(item);
    for (let item = this.#kept[count]; item !== undefined; item = this.#kept[count]) {
      if (this.#characters <= keptCharactersMax) break;
      this.#characters -= charactersOf(item);
      count += 1;
    }
    if (count === 0) return;
    const gone = this.#kept.splice(0, count);
    this.#from = gone.at(-1)?.position ?? this.#from;
  }
}

const charactersOf = ({ text, textForGuests }: FeedItem): number =>
  text.length + (textForGuests === text ? 0 : textForGuests.length);

/** Ids are random, so that callers are spread over the steps. */
const stepOf = (callerId: string): number => Number.parseInt(callerId.slice(0, 8), 16) % beatSteps;

function tooMany(): Refusal {
  const message = "Too many connections read the feed. Close one, or try again later.";
  return new Refusal("too_many", "feed.too_many", message, { retryAfterSeconds: 30 });
}

export const fitsFilter = ({ placeId, subjectId, types }: FeedFilter) => {
  const wanted = types && new Set(types);
  const subject = subjectId === undefined ? undefined : indexable(subjectId);
  return (item: FeedItem): boolean =>
    (placeId === undefined || item.placeId === placeId) &&
    (wanted === undefined || wanted.has(item.type)) &&
    (subject === undefined || item.subjectId === subject);
};

const hubs = new WeakMap<Deps["onChange"], FeedHub>();

/** The hub of this process. */
export function hubOf(deps: HubDeps): FeedHub {
  const known = hubs.get(deps.onChange) ?? new FeedHub(deps);
  hubs.set(deps.onChange, known);
  return known;
}

/** Ends every feed with a last event: the process is about to end. */
export function endFeeds(onChange: Deps["onChange"]): void {
  hubs.get(onChange)?.endAll();
}
