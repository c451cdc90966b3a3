import type { ClientRow } from "../../projections/oauth/application.ts";

type Client = Pick<ClientRow, "callback_url" | "is_standalone">;

/**
 * Whether codes may be sent there: only to the registered address, letter by letter. An application
 * on the user's own machine may listen on whatever port is free there (RFC 8252, 7.3).
 */
export function isRedirectOf({ callback_url, is_standalone }: Client, uri: string): boolean {
  if (uri === callback_url) return true;
  const [registered, asked] = [loopback(callback_url), loopback(uri)];
  if (!is_standalone || registered === undefined || asked === undefined) return false;
  return registered.host === asked.host && registered.rest === asked.rest;
}

/** Read as text, since a parser would take much else for the same address. */
function loopback(uri: string): Readonly<{ host: string; rest: string }> | undefined {
  const match = /^http:\/\/(127\.0\.0\.1|\[::1\])(?::([1-9]\d{0,4}))?((?:[/?].*)?)$/.exec(uri);
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
 * address: there the scheme has to do.
 */
export function formTarget(uri: string): string {
  const { origin, protocol, hostname } = new URL(uri);
  return hostname.startsWith("[") ? protocol : origin;
}
