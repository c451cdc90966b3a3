import { expect } from "chai";

import type { TestApp, TestUser } from "../app/app.ts";

/** The head of the log, as /log/head answers it. */
export type LogHead = Readonly<{
  size: number;
  rootHash: string;
  timestamp: string;
  signature: string;
  checkpoint: string;
}>;

export async function headOf(app: TestApp, { token }: TestUser): Promise<LogHead> {
  const { status, body, text } = await app.get("/log/head", { token });
  expect(status, text).to.equal(200);
  return body as unknown as LogHead;
}
