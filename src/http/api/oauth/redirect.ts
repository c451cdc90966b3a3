import type { ClientRow } from "../../../projections/oauth/application.ts";

type Client = Pick<ClientRow, "callback_url">;

/**
 * Whether codes may be sent there: only to the registered address, letter by letter. On the user's own
 * machine an application may listen on whatever port is free there (RFC 8252, 7.3).
 */
export function isRedirectOf({ callback_url }: Client, uri: string): boolean {
  if (uri === callback_url) return true;
  const [registered, sent] = [loopback(callback_url), loopback(uri)];
  if (registered === undefined || sent === undefined) return false;
  return registered.host === sent.host && registered.rest === sent.rest;
}

/**
 * Whether an application may register the address: https, loopback (RFC 8252, 7.3), or a private-use
 * scheme, which has a dot because it is a domain name read backwards (RFC 8252, 7.1).
 */
export function isRegistrable(uri: string): boolean {
  if (/[^!-~]|[#\\]/.test(uri) || !URL.canParse(uri)) return false;
  if (isPrivateUse(uri) || loopback(uri) !== undefined) return true;
  const { protocol, username, password } = new URL(uri);
  return protocol === "https:" && username === "" && password === "";
}

/** Another application on the user's machine may claim the same scheme (RFC 8252, 8.6). */
export function isPrivateUse(uri: string): boolean {
  return /^[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+:\//.test(uri);
}

/** Read as text, since a parser would take much else for the same address. */
function loopback(uri: string): Readonly<{ host: string; rest: string }> | undefined {
  const form = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(?::([1-9]\d{0,4}))?((?:[/?].*)?)$/;
  const match = form.exec(uri);
  if (match === null || Number(match[2] ?? 0) > 65_535) return undefined;
  const [, host = "", , rest = ""] = match;
  return { host, rest };
}

/** The address with more parameters; what it has of its own stays as it is. */
export function withParameters(
  uri: string,
  parameters: Readonly<Record<string, string | undefined>>,
): string {
  const pairs = Object.entries(parameters).filter(
    (pair): pair is [string, string] => pair[1] !== undefined,
  );
  return `${uri}${uri.includes("?") ? "&" : "?"}${new URLSearchParams(pairs).toString()}`;
}

/**
 * What `form-action` has to name, so that a form of ours may end up there. It cannot name an IPv6
 * address, and a private-use scheme has no origin: there the scheme has to do.
 */
export function formTarget(uri: string): string {
  const { origin, protocol, hostname } = new URL(uri);
  return hostname.startsWith("[") || isPrivateUse(uri) ? protocol : origin;
}
