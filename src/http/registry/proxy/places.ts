import { Room } from "./room.ts";

/** Places that requests do not wait for: who finds none is sent away for a moment. */
export class Places {
  readonly #room: Room;

  constructor(placesMax: number, perCallerMax: number) {
    this.#room = new Room(placesMax, perCallerMax);
  }

  /**
   * Takes a place for the present caller.
   *
   * @returns gives it back; may be called again
   * @throws Refusal 503 `registry.busy`
   */
  take(): () => void {
    return this.#room.take(1).leave;
  }
}
