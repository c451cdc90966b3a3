import type { Socket } from "node:net";
import ipaddr from "ipaddr.js";

/** One IPv4 address, or the /64 that one IPv6 subscriber has to choose from. */
export function networkOf(ip: string): string {
  if (!ipaddr.isValid(ip)) return "unknown";
  const address = ipaddr.process(ip);
  if (address.kind() === "ipv4") return address.toString();
  const parts = (address as ipaddr.IPv6).parts.slice(0, 4);
  return `${parts.map((part) => part.toString(16)).join(":")}::/64`;
}

/**
 * What callers from one place share while they have not said who they are: the /24 of an IPv4 address, the
 * /64 of an IPv6 one.
 */
export function neighbourhoodOf(ip: string): string {
  const network = networkOf(ip);
  return network.includes(":") || network === "unknown"
    ? network
    : `${network.split(".").slice(0, 3).join(".")}.0/24`;
}

/** Address of the peer of a connection, an IPv4 one on a dual-stack socket written as IPv4. Empty once it is closed. */
export function peerAddress({ remoteAddress }: Pick<Socket, "remoteAddress">): string {
  return (remoteAddress ?? "").replace(/^::ffff:(\d+\.)/, "$1");
}
