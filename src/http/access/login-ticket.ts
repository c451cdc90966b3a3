import { z } from "zod";
import { LoginVia } from "../../events/access/session.ts";
import { UserId } from "../../events/core/ids.ts";
import { readSigned, signed } from "../../platform/key/signed.ts";
import type { Vault } from "../../platform/key/vault.ts";
import type { UserRow } from "../../projections/user/user.ts";

/** As long as it takes to find a phone. */
export const ticketSeconds = 5 * 60;
const purpose = "login ticket";

const Ticket = z.object({
  userId: UserId,
  via: LoginVia,
  returnTo: z.string(),
  until: z.number(),
  /** Of the password at the time: another one since then makes the ticket worthless. */
  passwordMark: z.string(),
});
/** Held by a visitor who gave the first factor and has to give the second. It grants no access by itself. */
export type Ticket = Readonly<z.output<typeof Ticket>>;

/** The ticket as a cookie, which the browser can read but not change. */
export function writeTicket(vault: Vault, ticket: Ticket): string {
  return signed(vault, purpose, ticket);
}

/** Undefined when it is no ticket of ours, or too old. */
export function readTicket(vault: Vault, cookie: string, now: Date): Ticket | undefined {
  const { data: ticket } = Ticket.safeParse(readSigned(vault, purpose, cookie));
  return ticket !== undefined && ticket.until > now.getTime() ? ticket : undefined;
}

export function markOf(vault: Vault, user: UserRow): string {
  return vault.digest("password mark", user.password_hash ?? "");
}
