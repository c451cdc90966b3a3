import type { Place } from "./storage.ts";

/** Remembers where the newest event ids went, for appends that name no revision to compare with. */
export class RecentPlaces {
  readonly #byId = new Map<string, Place>();
  readonly #ring: (Place | undefined)[];
  #next = 0;

  constructor(countMax: number) {
    this.#ring = new Array<Place | undefined>(countMax).fill(undefined);
  }

  find(stream: string, id: string): Place | undefined {
    return this.#byId.get(key(stream, id));
  }

  add(place: Place): void {
    const evicted = this.#ring[this.#next];
    if (evicted !== undefined) {
      const evictedKey = key(evicted.stream, evicted.id);
      // The same id may have been stored again since: then the newer place stays known.
      if (this.#byId.get(evictedKey) === evicted) this.#byId.delete(evictedKey);
    }
    this.#ring[this.#next] = place;
    this.#next = (this.#next + 1) % this.#ring.length;
    this.#byId.set(key(place.stream, place.id), place);
  }

  clear(): void {
    this.#byId.clear();
    this.#ring.fill(undefined);
    this.#next = 0;
  }
}

/** The same event id in two streams is two events. */
const key = (stream: string, id: string): string => `${id} ${stream}`;
