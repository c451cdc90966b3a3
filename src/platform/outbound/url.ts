import { isIP } from "node:net";

import { isAllowedAddress, type OutboundAllow } from "./address.ts";

export type OutboundRefusalCode =
  | "url.malformed"
  | "url.scheme"
  | "url.credentials"
  | "url.port"
  | "url.address";

/** The guard does not let a request go there. The message may be shown to the user who gave the URL. */
export class OutboundRefused extends Error {
  override readonly name = "OutboundRefused";

  constructor(
    readonly code: OutboundRefusalCode,
    message: string,
  ) {
    super(message);
  }
}

const urlLengthMax = 2048;

/**
 * Checks all that can be known of a URL without asking DNS, and gives it in its normal form. The URL
 * parser (WHATWG) turns every spelling of an IPv4 address (127.1, 2130706433, 0x7f.1, 0177.0.0.1,
 * full-width digits) into the dotted one, so one check on the result covers them all.
 *
 * @throws OutboundRefused
 */
export function checkOutboundUrl(text: string, allow: OutboundAllow): URL {
  // Parsers disagree about what these mean; nobody needs them in a URL.
  if (text.length > urlLengthMax || /[\s\\\p{Cc}]/u.test(text)) throw malformed();
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null) throw malformed();
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new OutboundRefused("url.scheme", "Only http and https URLs are allowed.");
  }
  if (url.username !== "" || url.password !== "") {
    throw new OutboundRefused("url.credentials", "The URL may not carry credentials.");
  }
  if (url.port === "0") {
    throw new OutboundRefused("url.port", "The port must be between 1 and 65535.");
  }
  const host = bareHost(url);
  const literal = isIP(host) !== 0;
  if (isNamedException(url, allow)) return url;
  if (literal ? !isAllowedAddress(host, allow) : isLocalName(host)) throw addressRefused();
  return url;
}

/** Did the operator list this very host and port? Then its addresses are not checked. */
export function isNamedException(url: URL, allow: OutboundAllow): boolean {
  return allow.hosts.has(`${url.hostname}:${portOf(url)}`);
}

/** The host as a resolver takes it: IPv6 without brackets. */
export function bareHost(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, "");
}

export function portOf(url: URL): number {
  if (url.port !== "") return Number(url.port);
  return url.protocol === "https:" ? 443 : 80;
}

export function addressRefused(): OutboundRefused {
  return new OutboundRefused("url.address", "The host is not on the public internet.");
}

function malformed(): OutboundRefused {
  return new OutboundRefused("url.malformed", "Not a valid URL.");
}

/** Names that mean this machine wherever they are resolved (RFC 6761). */
function isLocalName(host: string): boolean {
  return /(?:^|\.)localhost\.?$/.test(host);
}
