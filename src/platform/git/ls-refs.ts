import { flushPacket, PacketMalformed, packet, packetAt } from "./pkt-line.ts";
import type { RefListing } from "./ref-listing.ts";

/** What the client wants to be told of; gitprotocol-v2(5), "ls-refs". */
export type RefsAsked = Readonly<{
  symrefs: boolean;
  peel: boolean;
  unborn: boolean;
  /** Names begin with one of these; all are wanted when there is none. */
  prefixes: readonly string[];
}>;

const knownCapability = /^(?:agent=.*|session-id=.*|object-format=sha1)$/;
const prefix = "ref-prefix ";

/**
 * Reads a request of protocol version 2.
 *
 * @returns undefined when it is for something else, or holds anything that is not known here
 */
export function parseLsRefs(body: Buffer): RefsAsked | undefined {
  const [[command, ...capabilities] = [], args = [], ...rest] = sectionsOf(body);
  if (command !== "command=ls-refs" || rest.length > 0) return undefined;
  if (!capabilities.every((line) => knownCapability.test(line))) return undefined;
  const asked = { symrefs: false, peel: false, unborn: false };
  const prefixes: string[] = [];
  for (const line of args) {
    if (line === "symrefs" || line === "peel" || line === "unborn") asked[line] = true;
    else if (line.startsWith(prefix)) prefixes.push(line.slice(prefix.length));
    else return undefined;
  }
  return { ...asked, prefixes };
}

/** The lines of a request, up to each delimiter and the end; none when it is malformed. */
function sectionsOf(body: Buffer): readonly (readonly string[])[] {
  try {
    return sections(body);
  } catch (error) {
    if (error instanceof PacketMalformed) return [];
    throw error;
  }
}

/** @throws PacketMalformed */
function sections(body: Buffer): readonly (readonly string[])[] {
  const all: string[][] = [];
  let lines: string[] = [];
  for (let offset = 0; offset < body.length; ) {
    const read = packetAt(body, offset);
    if (read.kind === "partial") throw new PacketMalformed("Cut off");
    if (read.kind === "data") lines.push(read.payload.toString().replace(/\n$/, ""));
    else {
      all.push(lines);
      lines = [];
    }
    offset = read.end;
  }
  if (lines.length > 0) throw new PacketMalformed("Without an end");
  return all;
}

/** Answers as git does, HEAD first. */
export function lsRefsAnswer(
  { symrefs, peel, unborn, prefixes }: RefsAsked,
  { head, refs }: RefListing,
): Buffer {
  const wanted = (name: string): boolean =>
    prefixes.length === 0 || prefixes.some((beginning) => name.startsWith(beginning));
  const target = `refs/heads/${head}`;
  const headId =
    refs.find(({ name }) => name === target)?.id ?? (unborn && symrefs ? "unborn" : "");
  const packets: Buffer[] = [];
  if (wanted("HEAD") && headId !== "") {
    packets.push(packet(`${headId} HEAD${symrefs ? ` symref-target:${target}` : ""}\n`));
  }
  for (const { name, id, peeled } of refs) {
    if (!wanted(name)) continue;
    packets.push(packet(`${id} ${name}${peel && peeled ? ` peeled:${peeled}` : ""}\n`));
  }
  return Buffer.concat([...packets, flushPacket]);
}
