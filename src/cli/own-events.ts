import type { Recorded } from "../events/core/event.ts";
import { isStreamName } from "../events/core/stream.ts";
import type { EventStore } from "../platform/event-store/event-store.ts";
import { CommandEnd, exits } from "./command-end.ts";
import { printable, write } from "./write.ts";

/** Events of other applications, which a copy of the log does not have. */
export class LeftOut {
  #count = 0;
  #first: Recorded | undefined;

  note(event: Recorded): void {
    this.#count += 1;
    this.#first ??= event;
  }

  /** Says on stderr what was left out, if anything. */
  report(): void {
    if (this.#first === undefined) return;
    const text = `Left out ${this.#count} events of other applications; the first is ${placeOf(this.#first)}.`;
    write(process.stderr, `${printable(text)}\n`);
  }
}

/**
 * The events of the service.
 *
 * @param isPutBack whether the copy is for another store, which takes a stream only without gaps
 * @throws CommandEnd for an event of another application in a stream of the service, when it is
 */
export async function* ownEvents(
  store: EventStore,
  leftOut: LeftOut,
  { isPutBack }: Readonly<{ isPutBack: boolean }>,
): AsyncGenerator<Recorded> {
  for await (const event of store.readAll({ withForeign: true })) {
    if (event.isForeign !== true) {
      yield event;
      continue;
    }
    if (isPutBack && isStreamName(event.stream)) throw withinOurs(event);
    leftOut.note(event);
  }
}

const placeOf = ({ type, position, stream }: Recorded): string =>
  `${type} at ${position} in ${stream}`;

function withinOurs(event: Recorded): CommandEnd {
  const text =
    `The log holds an event of another application in a stream of the service: ${placeOf(event)}. ` +
    "A copy without it cannot be put into another store; copy the event store by its own means.";
  return new CommandEnd(printable(text), exits.bad);
}
