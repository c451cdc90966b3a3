import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

type Range = [ipaddr.IPv4 | ipaddr.IPv6, number];

const range = (text: string): Range => ipaddr.parseCIDR(text);

/** IPv4 that is not the public internet: IANA special-purpose registry, and cloud-internal hosts. */
const refusedIpv4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  // Azure's host agent answers on this public address inside every virtual machine.
  "168.63.129.16/32",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
].map(range);

/**
 * The only IPv6 space given out for global unicast (RFC 4291, IANA). Everything else falls outside:
 * loopback, link-local, unique-local, site-local, multicast, IPv4-compatible, NAT64, discard, SRv6.
 */
const globalIpv6 = range("2000::/3");

/** Inside global unicast, yet not the public internet or a tunnel to an IPv4 address. */
const refusedIpv6 = [
  // Protocol assignments; among them Teredo 2001::/32, benchmarking, ORCHID.
  "2001::/23",
  "2001:db8::/32",
  "2002::/16",
  "3fff::/20",
].map(range);

/** What the operator lets outbound requests reach although it is not public. */
export type OutboundAllow = Readonly<{
  ranges: readonly Range[];
  /** `host:port` in lower case, IPv6 in brackets, as in a URL's `hostname:port`. */
  hosts: ReadonlySet<string>;
}>;

export const allowNothing: OutboundAllow = { ranges: [], hosts: new Set() };

/**
 * Reads exceptions: `10.2.0.0/16`, `fd00::/8`, a single address, or `host:port` (`[::1]:8080`).
 *
 * @throws Error naming the first entry that is none of these.
 */
export function parseOutboundAllow(entries: readonly string[]): OutboundAllow {
  const ranges: Range[] = [];
  const hosts = new Set<string>();
  for (const entry of entries.map((text) => text.trim()).filter((text) => text !== "")) {
    if (ipaddr.isValidCIDR(entry)) ranges.push(range(entry));
    else if (isIP(entry) === 4) ranges.push(range(`${entry}/32`));
    else if (isIP(entry) === 6) ranges.push(range(`${entry}/128`));
    else hosts.add(hostAndPort(entry));
  }
  return { ranges, hosts };
}

function hostAndPort(entry: string): string {
  const [, host = "", port = ""] =
    /^(\[[0-9a-fA-F:.]+\]|[^\s:/@[\]]+):(\d{1,5})$/.exec(entry) ?? [];
  const url = `http://${host}`;
  const number = Number(port);
  if (host === "" || !URL.canParse(url) || number < 1 || number > 65_535) {
    throw new Error(`Not an address range or host:port: ${entry}`);
  }
  return `${new URL(url).hostname}:${number}`;
}

/**
 * May a connection to this address be made on behalf of a user? IPv4-mapped IPv6 counts as the IPv4
 * address it carries; anything that does not parse, or names a zone, is refused.
 */
export function isAllowedAddress(address: string, allow: OutboundAllow = allowNothing): boolean {
  if (isIP(address) === 0 || address.includes("%")) return false;
  const parsed = ipaddr.process(hexadecimal(address));
  if (within(parsed, allow.ranges)) return true;
  if (parsed.kind() === "ipv4") return !within(parsed, refusedIpv4);
  return within(parsed, [globalIpv6]) && !within(parsed, refusedIpv6);
}

/** Is the address in one of these ranges? IPv4-mapped IPv6 counts as the IPv4 address it carries. */
export function isListedAddress(address: string, { ranges }: OutboundAllow): boolean {
  if (isIP(address) === 0 || address.includes("%")) return false;
  return within(ipaddr.process(hexadecimal(address)), ranges);
}

/** IPv6 without a dotted tail: ipaddr.js would take `::8.8.8.8` for the IPv4-mapped address. */
function hexadecimal(address: string): string {
  return isIP(address) === 6 ? new URL(`http://[${address}]`).hostname.slice(1, -1) : address;
}

function within(address: ipaddr.IPv4 | ipaddr.IPv6, ranges: readonly Range[]): boolean {
  return ranges.some(
    ([network, bits]) => network.kind() === address.kind() && address.match(network, bits),
  );
}
