import { expect } from "chai";

import { Refusal } from "../../../src/platform/refusal.ts";

/** That it is refused with this code, and says why. */
export async function refused(
  run: () => unknown,
  code: string,
  message?: string | RegExp,
): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    expect(error.code, error.message).to.equal(code);
    if (message !== undefined) expect(error.message).to.match(new RegExp(message));
    return;
  }
  expect.fail(`expected a refusal: ${code}`);
}

/** The code of the refusal; undefined when there is none. */
export function codeOf(run: () => unknown): string | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return error.code;
  }
}
