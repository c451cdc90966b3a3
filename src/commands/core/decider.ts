import type { EventOf, EventSchemas } from "../../events/core/event.ts";

/** The rules of one kind of stream, without I/O: what a command means, and what events add up to. */
export type Decider<State, Command, Event> = Readonly<{
  initialState: State;
  /** @throws Refusal when the command is not allowed in this state. */
  decide: (state: State, command: Command) => readonly Event[];
  evolve: (state: State, event: Event) => State;
}>;

/** Everything one kind of stream needs in order to be written to. */
export type Slice<State, Command, Schemas extends EventSchemas> = Decider<
  State,
  Command,
  EventOf<Schemas>
> &
  Readonly<{ events: Schemas; stream: (id: string) => string }>;
