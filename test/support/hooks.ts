import { use } from "chai";
import chaiAsPromised from "chai-as-promised";

use(chaiAsPromised);

const unhandled: unknown[] = [];

// Mocha prints a rejection that nobody handles and goes on; here it is a failure like any other.
process.on("unhandledRejection", (reason) => {
  unhandled.push(reason);
});

/** Fails the test during which, or just before which, a promise was rejected unheard. */
export const mochaHooks = {
  async afterEach(): Promise<void> {
    // Node tells of a rejection once the microtasks of its turn are through.
    await new Promise((resolve) => setImmediate(resolve));
    const [reason] = unhandled.splice(0);
    if (reason !== undefined) throw reason;
  },
  afterAll(): void {
    const [reason] = unhandled.splice(0);
    if (reason !== undefined) throw reason;
  },
};
