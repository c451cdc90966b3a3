import type { DirectorySettings } from "../../platform/identity/directory.ts";
import type { ConnectionOf } from "../../projections/login/connection.ts";
import type { Deps } from "../core/deps.ts";

/** What the directory's client needs of a connection, its secrets opened. */
export async function directorySettings(
  { details }: ConnectionOf<"LDAP">,
  { vault }: Pick<Deps, "vault">,
): Promise<DirectorySettings> {
  const { caCert, bindPassword } = details;
  return {
    ...details,
    caCert: caCert === null ? null : await vault.open(caCert),
    bindPassword: bindPassword === null ? null : await vault.open(bindPassword),
  };
}

/** Entries are other people's when another attribute, or another tree, identifies them. */
export function directoryIssuer({ details }: ConnectionOf<"LDAP">): string {
  return `${details.baseDn.toLowerCase()}#${details.idAttribute.toLowerCase()}`;
}
