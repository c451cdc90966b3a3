import { LRUCache } from "lru-cache";

import type { Place } from "./storage.ts";

/** Remembers where the newest event ids went, for appends that name no revision to compare with. */
export class RecentPlaces {
  readonly #places: LRUCache<string, Place>;

  constructor(countMax: number) {
    this.#places = new LRUCache({ max: countMax });
  }

  find(stream: string, id: string): Place | undefined {
    // What is looked up is not kept for longer: the oldest place is the first to go.
    return this.#places.peek(key(stream, id));
  }

  add(place: Place): void {
    this.#places.set(key(place.stream, place.id), place);
  }

  clear(): void {
    this.#places.clear();
  }
}

/** The same event id in two streams is two events. */
const key = (stream: string, id: string): string => `${id} ${stream}`;
