import { Socket } from "node:net";

/**
 * A connection that sends the statements of one turn of the event loop by one call of the system. pg corks it for each
 * statement alone, and a write of its own costs as much as a short statement.
 */
export class TurnSocket extends Socket {
  override uncork(): void {
    process.nextTick(() => super.uncork());
  }
}
