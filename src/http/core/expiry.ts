import { z } from "zod";

import { fieldRefusal } from "./schema.ts";

/** A day, a time, or nothing at all. */
export const Expiry = z
  .union([z.literal(""), z.iso.date(), z.iso.datetime({ offset: true, local: true }).max(40)])
  .nullish();

/** The given day counts, whatever time of it was named: it ends with it, in UTC. */
export function endOfDay(day: string | null | undefined): string | null {
  if (day === undefined || day === null || day === "") return null;
  return `${new Date(day).toISOString().slice(0, 10)}T23:59:59.999Z`;
}

/** A day means its end; a time means itself. */
export function endOf(text: string | null | undefined): string | null {
  if (text === undefined || text === null || text === "") return null;
  return text.length === "2026-01-01".length ? endOfDay(text) : new Date(text).toISOString();
}

/** @throws Refusal 422 when it is over already; `code` says of what */
export function mustBeAhead(expiresAt: string | null, now: Date, code: string): void {
  if (expiresAt === null || expiresAt >= now.toISOString()) return;
  const message = "This time has passed already.";
  throw fieldRefusal("expiresAt", code, message);
}
