import { inspect } from "node:util";
import { use } from "chai";
import chaiAsPromised from "chai-as-promised";
import type { Context } from "mocha";

import { fileEnded } from "./app/released.ts";

use(chaiAsPromised);

const unhandled: unknown[] = [];

// Mocha prints a rejection that nothing handles and goes on; here it is a failure like any other.
process.on("unhandledRejection", (reason) => {
  unhandled.push(reason);
});

export const mochaHooks = {
  /** Fails the test during which, or just before which, a promise was rejected and not handled. */
  async afterEach(this: Context): Promise<void> {
    sendable(this.currentTest?.err);
    // Node reports a rejection once the microtasks of its turn are through.
    await new Promise((resolve) => setImmediate(resolve));
    const [reason] = unhandled.splice(0);
    if (reason !== undefined) throw reason;
  },
  afterAll(): void {
    fileEnded();
    const [reason] = unhandled.splice(0);
    if (reason !== undefined) throw reason;
  },
};

/**
 * A failure travels to mocha's main process as JSON, which has no bigint: without this, mocha reports none of the
 * file's tests and does not say which failed.
 */
function sendable(error: Error | undefined): void {
  for (const [key, value] of Object.entries(error ?? {})) {
    if (!canBeSent(value))
      Reflect.set(error as Error, key, inspect(value, { depth: 6, sorted: true }));
  }
}

function canBeSent(value: unknown): boolean {
  try {
    JSON.stringify(value);
    return true;
  } catch {
    return false;
  }
}
