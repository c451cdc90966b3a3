import { expect } from "chai";

import type { TestApp } from "./app.ts";

/** Leaves what a process leaves that dies between the last event of a request with a key and its answer. */
export async function loseAnswer({ deps: { db } }: TestApp): Promise<void> {
  const lost = { status: null, headers: null, body: null, lease_until: new Date(0) };
  const newest = db("public.idempotent_answer").max("created_at");
  const rows = db("public.idempotent_answer").where("created_at", "=", newest);
  expect(await rows.update(lost)).to.equal(1);
}
