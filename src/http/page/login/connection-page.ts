import { z } from "zod";

import { LoginConnectionId } from "../../../events/core/ids.ts";
import type { ConnectionKind } from "../../../events/login/connection.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { type ConnectionOf, findLoginConnection } from "../../../projections/login/connection.ts";
import type { Deps } from "../../core/deps.ts";
import { pathLengthMax } from "../../core/schema.ts";
import { isOffered } from "./method.ts";

export const ConnectionParams = z.object({ connectionId: LoginConnectionId });

export const LoginQuery = z.object({
  returnTo: z.string().max(pathLengthMax).optional().catch(undefined),
});

/**
 * A connection by which people may log in now: it is enabled, and so is the login page of its kind.
 *
 * @throws Refusal 404 `login_connection.not_found`, also for one that is switched off
 */
export async function openConnection<Kind extends ConnectionKind>(
  kind: Kind,
  id: string,
  { db, settings }: Deps,
): Promise<ConnectionOf<Kind>> {
  const connection = await findLoginConnection(db, kind, id);
  if (connection?.enabled && isOffered(kind, await settings())) return connection;
  throw noConnection();
}

export function noConnection(): Refusal {
  const message =
    "There is no such login connection, or it is disabled. Choose another way to log in.";
  return new Refusal("not_found", "login_connection.not_found", message);
}
