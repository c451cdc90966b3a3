import { randomUUID } from "node:crypto";

import { DirectoryUnavailable } from "../../platform/identity/directory.ts";
import { type ConnectionOf, listLoginConnections } from "../../projections/login/connection.ts";
import { identitiesOf } from "../../projections/login/external-identity.ts";
import type { UserRow } from "../../projections/user/user.ts";
import type { Deps } from "../core/deps.ts";
import { directoryIssuer, directorySettings } from "./directory-settings.ts";

/** Whether the password is the one that this account's directory knows. */
export type DirectoryPassword = (user: UserRow | undefined, password: string) => Promise<boolean>;

/** At most so many directories check one password. */
const connectionsMax = 5;
/** A directory that did not answer is left alone for so long: logins by Basic must not pile up. */
const restMs = 10_000;

type PasswordDeps = Pick<Deps, "db" | "vault" | "directory" | "settings" | "log">;

/**
 * Basic for people who came by LDAP: under their alias here, with their password there. The account has
 * to exist; it is made by the login page. The same is done when it does not, so that the time taken
 * reveals nothing.
 */
export function directoryPassword(deps: PasswordDeps): DirectoryPassword {
  const restingUntil = new Map<string, number>();

  async function tries(
    connection: ConnectionOf<"LDAP">,
    subject: string | undefined,
    password: string,
  ): Promise<boolean> {
    if ((restingUntil.get(connection.id) ?? 0) > performance.now()) return false;
    try {
      const settings = await directorySettings(connection, deps);
      // Nobody is called so: it is looked for all the same.
      const wanted = subject === undefined ? { login: randomUUID() } : { id: subject };
      const entry = await deps.directory.find(settings, wanted);
      return await deps.directory.authenticate(settings, entry?.dn ?? null, password);
    } catch (error) {
      if (!(error instanceof DirectoryUnavailable)) throw error;
      restingUntil.set(connection.id, performance.now() + restMs);
      deps.log.warn(
        { connectionId: connection.id, why: error.message },
        "directory is out of order",
      );
      return false;
    }
  }

  return async (user, password) => {
    if (password === "" || !(await deps.settings()).enableLdapLoginPage) return false;
    const page = { limit: connectionsMax, offset: 0, enabled: true };
    const { rows } = await listLoginConnections(deps.db, "LDAP", page);
    if (rows.length === 0) return false;
    const identities = user === undefined ? [] : await identitiesOf(deps.db, user.id);
    for (const connection of rows) {
      const own = identities.find(({ connection_id }) => connection_id === connection.id);
      const text = own === undefined ? null : await deps.vault.open(own.subject);
      const subject = text === null ? undefined : entryIn(text, connection);
      if (await tries(connection, subject, password)) return true;
    }
    return false;
  };
}

/** The entry's id in what `identityOf` wrote; none when the connection identifies people otherwise by now. */
function entryIn(subject: string, connection: ConnectionOf<"LDAP">): string | undefined {
  const parsed: unknown = JSON.parse(subject);
  const [issuer, id] = Array.isArray(parsed) ? (parsed as readonly unknown[]) : [];
  return issuer === directoryIssuer(connection) && typeof id === "string" ? id : undefined;
}
