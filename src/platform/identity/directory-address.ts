import { isIP } from "node:net";

import {
  isAllowedAddress,
  isListedAddress,
  type OutboundAllow,
  parseOutboundAllow,
} from "../outbound/address.ts";

export type DirectoryAddress = Readonly<{ secure: boolean; host: string; port: number }>;

export type DirectoryRefusalCode = "ldap.url_malformed" | "ldap.port" | "ldap.address";

/** The operator lets no directory connection go there. The message may be shown to administrators. */
export class DirectoryRefused extends Error {
  override readonly name = "DirectoryRefused";

  constructor(
    readonly code: DirectoryRefusalCode,
    message: string,
  ) {
    super(message);
  }
}

export type DirectoryGuard = Readonly<{
  /** Refuses what no DNS answer can make right. @throws DirectoryRefused */
  check: (url: string) => DirectoryAddress;
  /** May a connection for this address go to what its name resolved to? */
  isAllowed: (to: DirectoryAddress, resolved: string) => boolean;
}>;

/** LDAP, LDAPS, and the same for the global catalogue of Active Directory. */
const usualPorts: ReadonlySet<number> = new Set([389, 636, 3268, 3269]);

/** Where directories usually are. Not this machine, and not the metadata services of clouds. */
const privateNetworks = parseOutboundAllow([
  "10.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "fc00::/7",
]);

/**
 * Administrators of the instance name the directory's address, but are not always the operators of
 * its network. Without a list: private networks and public addresses, at LDAP's own ports. With one:
 * only the ranges and `host:port` it names.
 */
export function directoryGuard(entries: readonly string[] | undefined): DirectoryGuard {
  const allow = entries && parseOutboundAllow(entries);
  const isAllowed: DirectoryGuard["isAllowed"] = (to, resolved) => {
    if (allow === undefined) return isAllowedAddress(resolved, privateNetworks);
    return isNamed(to, allow) || isListedAddress(resolved, allow);
  };
  return {
    isAllowed,
    check(url) {
      const address = parseDirectoryUrl(url);
      if (allow === undefined && !usualPorts.has(address.port)) {
        const message = `Port ${address.port} is none of LDAP's; LDAP_ALLOW of the service may name it.`;
        throw new DirectoryRefused("ldap.port", message);
      }
      if (isIP(address.host) !== 0 && !isAllowed(address, address.host)) throw addressRefused();
      return address;
    },
  };
}

export function addressRefused(): DirectoryRefused {
  const message = "The directory's address is not allowed; LDAP_ALLOW of the service may name it.";
  return new DirectoryRefused("ldap.address", message);
}

function isNamed({ host, port }: DirectoryAddress, { hosts }: OutboundAllow): boolean {
  return hosts.has(`${host.includes(":") ? `[${host}]` : host}:${port}`);
}

/** RFC 4516, of which only the address is used here. */
function parseDirectoryUrl(text: string): DirectoryAddress {
  const malformed = new DirectoryRefused(
    "ldap.url_malformed",
    "Use ldap://host:port or ldaps://host:port, and nothing behind it.",
  );
  const [, scheme = "", host = "", port] =
    /^(ldaps?):\/\/(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?\/?$/i.exec(text) ?? [];
  if (host === "" || !URL.canParse(`http://${host}`)) throw malformed;
  const secure = scheme.toLowerCase() === "ldaps";
  const number = port === undefined ? (secure ? 636 : 389) : Number(port);
  if (number < 1 || number > 65_535) throw malformed;
  // The normal form: every spelling of an IPv4 address becomes the dotted one.
  const hostname = new URL(`http://${host}`).hostname.replace(/^\[|\]$/g, "");
  return { secure, host: hostname, port: number };
}
