import { randomBytes } from "node:crypto";
import type { Client } from "ldapts";

import type { DirectoryGuard } from "./directory-address.ts";
import { connectDirectory, type DirectoryLimits } from "./directory-connection.ts";

/** How a directory is reached and read; secrets in clear. */
export type DirectorySettings = Readonly<{
  url: string;
  startTls: boolean;
  caCert: string | null;
  baseDn: string;
  bindDn: string;
  bindPassword: string | null;
  userFilter: string;
  idAttribute: string;
  aliasAttribute: string;
  emailAttribute: string;
  nameAttribute: string;
  surnameAttribute: string;
}>;

export type DirectoryEntry = Readonly<{
  dn: string;
  /** Bytes of the identifying attribute, in base64url: it may be binary. */
  id: string;
  alias: string | null;
  email: string | null;
  name: string | null;
  surname: string | null;
}>;

/** What the person typed, or the id of an entry seen before. */
export type Wanted = Readonly<{ login: string }> | Readonly<{ id: string }>;

/** It did not answer, or not as a directory should. The message is for the log. */
export class DirectoryUnavailable extends Error {
  override readonly name = "DirectoryUnavailable";
}

export type Directory = Readonly<{
  /** @throws DirectoryRefused */
  checkUrl: DirectoryGuard["check"];
  /** The one entry that is meant; null when there is none, or more than one. @throws DirectoryUnavailable */
  find: (settings: DirectorySettings, wanted: Wanted) => Promise<DirectoryEntry | null>;
  /**
   * Whether the password is this entry's. Without an entry it is tried on a name nobody has, so that
   * the time taken reveals nothing.
   *
   * @throws DirectoryUnavailable
   */
  authenticate: (
    settings: DirectorySettings,
    dn: string | null,
    password: string,
  ) => Promise<boolean>;
}>;

/** Loaded at the first login by LDAP: most instances never need it. */
const library = () => import("ldapts");

/** A login waits for this; a directory that does not answer in time counts as unavailable. */
const limitsDefault: DirectoryLimits = { connectMs: 3_000, operationMs: 4_000 };

/** Result codes of a bind (RFC 4511, appendix A) that mean "not this password", or not now. */
const notAuthenticated: ReadonlySet<number> = new Set([
  19, // constraintViolation: locked by a password policy
  32, // noSuchObject
  34, // invalidDNSyntax
  48, // inappropriateAuthentication: the entry has no password
  49, // invalidCredentials
  50, // insufficientAccessRights
  53, // unwillingToPerform: the account is disabled there
]);

export function openDirectory(
  options: Readonly<{ guard: DirectoryGuard; limits?: DirectoryLimits }>,
): Directory {
  const { guard, limits = limitsDefault } = options;

  async function using<Result>(
    settings: DirectorySettings,
    work: (client: Client) => Promise<Result>,
  ): Promise<Result> {
    let client: Client | undefined;
    try {
      const address = guard.check(settings.url);
      client = await connectDirectory(address, settings, { guard, limits });
      return await work(client);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new DirectoryUnavailable(why, { cause: error });
    } finally {
      await client?.unbind().catch(() => undefined);
    }
  }

  return {
    checkUrl: guard.check,
    find: (settings, wanted) =>
      using(settings, async (client) => {
        const { bindDn, bindPassword } = settings;
        if (bindDn !== "") await client.bind(bindDn, bindPassword ?? "");
        return await search(client, settings, wanted);
      }),
    authenticate: async (settings, dn, password) => {
      // RFC 4513, 5.1.2: without a password the bind succeeds and authenticates nobody.
      if (password === "") return false;
      const { ResultCodeError } = await library();
      const tried = dn ?? `cn=${randomBytes(12).toString("hex")},${settings.baseDn}`;
      return await using(settings, async (client) => {
        try {
          await client.bind(tried, password);
          return dn !== null;
        } catch (error) {
          if (error instanceof ResultCodeError && notAuthenticated.has(error.code)) return false;
          throw error;
        }
      });
    },
  };
}

async function search(
  client: Client,
  settings: DirectorySettings,
  wanted: Wanted,
): Promise<DirectoryEntry | null> {
  const { idAttribute, aliasAttribute, emailAttribute, nameAttribute, surnameAttribute } = settings;
  const attributes = [idAttribute, aliasAttribute, emailAttribute, nameAttribute, surnameAttribute];
  // Two entries mean that the filter is ambiguous. Referrals name other servers and are not followed.
  const { searchEntries } = await client.search(settings.baseDn, {
    scope: "sub",
    filter: await filterOf(settings, wanted),
    attributes: [...new Set(attributes.filter((name) => name !== ""))],
    explicitBufferAttributes: attributes,
    sizeLimit: 2,
    derefAliases: "never",
  });
  const [entry, another] = searchEntries;
  if (entry === undefined || another !== undefined) return null;
  const read = attributeReader(entry);
  const id = read(idAttribute);
  if (id === null) return null;
  const text = (name: string): string | null => read(name)?.toString("utf8") ?? null;
  return {
    dn: entry.dn,
    id: id.toString("base64url"),
    alias: text(aliasAttribute),
    email: text(emailAttribute),
    name: text(nameAttribute),
    surname: text(surnameAttribute),
  };
}

/** The first value of an attribute; names are compared without regard to case. */
function attributeReader(entry: Readonly<Record<string, unknown>>) {
  return (name: string): Buffer | null => {
    const found = Object.entries(entry).find(([key]) => key.toLowerCase() === name.toLowerCase());
    const [first] = found === undefined || name === "" ? [] : [found[1]].flat();
    if (Buffer.isBuffer(first)) return first.length === 0 ? null : first;
    return typeof first === "string" && first !== "" ? Buffer.from(first) : null;
  };
}

const placeholder = "{login}";

async function filterOf(
  { userFilter, idAttribute }: DirectorySettings,
  wanted: Wanted,
): Promise<string> {
  const { Filter } = await library();
  if ("login" in wanted)
    return userFilter.replaceAll(placeholder, () => Filter.escape(wanted.login));
  return `(${idAttribute}=${Filter.escape(Buffer.from(wanted.id, "base64url"))})`;
}

/** What is wrong with a filter of the administrator's; undefined when nothing is. */
export async function filterMistake(filter: string): Promise<string | undefined> {
  if (!filter.includes(placeholder)) return `It must hold ${placeholder}.`;
  if (!filter.startsWith("(")) return "It must begin with a parenthesis (RFC 4515).";
  if (!isBalanced(filter)) return "Its parentheses do not match (RFC 4515).";
  const { FilterParser } = await library();
  try {
    FilterParser.parseString(filter.replaceAll(placeholder, "x"));
    return undefined;
  } catch {
    return "It is no LDAP filter (RFC 4515).";
  }
}

/** The parser lets a missing one pass. Inside a value they are escaped, so counting is enough. */
function isBalanced(filter: string): boolean {
  let depth = 0;
  const characters = [...filter];
  for (const [index, character] of characters.entries()) {
    if (character === "(") depth += 1;
    if (character === ")") depth -= 1;
    if (depth < 0 || (depth === 0 && index < characters.length - 1)) return false;
  }
  return depth === 0;
}
