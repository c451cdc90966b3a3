import { inspect } from "node:util";
import { use } from "chai";
import chaiAsPromised from "chai-as-promised";
import Mocha from "mocha";

import { releaseHeld } from "./app/released.ts";

use(chaiAsPromised);

const unhandled: unknown[] = [];

// Mocha prints a rejection that nobody handles and goes on; here it is a failure like any other.
process.on("unhandledRejection", (reason) => {
  unhandled.push(reason);
});

/**
 * A failure travels from the process of a parallel run as JSON, which has no bigint: mocha would report
 * none of the file's tests, and not say which failed.
 */
type Fail = (this: unknown, test: unknown, error: unknown, force?: boolean) => unknown;
const runner = Mocha.Runner.prototype as unknown as { fail: Fail };
const { fail } = runner;
runner.fail = function (test, error, force) {
  for (const [key, value] of Object.entries(error ?? {})) {
    const sent = canBeSent(value) ? value : inspect(value, { depth: 6, sorted: true });
    Reflect.set(error as object, key, sent);
  }
  return fail.call(this, test, error, force);
};

function canBeSent(value: unknown): boolean {
  try {
    JSON.stringify(value);
    return true;
  } catch {
    return false;
  }
}

/** Fails the test during which, or just before which, a promise was rejected unheard. */
export const mochaHooks = {
  async afterEach(): Promise<void> {
    // Node reports a rejection once the microtasks of its turn are through.
    await new Promise((resolve) => setImmediate(resolve));
    const [reason] = unhandled.splice(0);
    if (reason !== undefined) throw reason;
  },
  afterAll(): void {
    releaseHeld();
    const [reason] = unhandled.splice(0);
    if (reason !== undefined) throw reason;
  },
};
