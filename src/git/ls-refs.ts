import type { CommandRequest } from "./command-request.ts";
import { flushPacket, packet } from "./pkt-line.ts";
import type { RefListing } from "./ref-listing.ts";
import { servicePrefix } from "./service-ref.ts";

/** What the client requests; gitprotocol-v2(5), "ls-refs". */
export type LsRefsParams = Readonly<{
  symrefs: boolean;
  peel: boolean;
  unborn: boolean;
  /** Names begin with one of these; all are wanted when there is none. */
  prefixes: readonly string[];
}>;

/** Git's own upload-pack does nothing with the options that it takes. */
const knownCapability = /^(?:(?:agent|session-id|server-option)=.*|object-format=sha1)$/;
const prefix = "ref-prefix ";
/** Each is compared with every ref; a clone sends three, a fetch some for each refspec. */
const prefixesMax = 64;

/** @returns undefined for another command, or when it holds anything that is not known here, or many prefixes */
export function lsRefsParams({
  command,
  capabilities,
  args,
}: CommandRequest): LsRefsParams | undefined {
  if (command !== "ls-refs") return undefined;
  if (!capabilities.every((line) => knownCapability.test(line))) return undefined;
  const flags = { symrefs: false, peel: false, unborn: false };
  const prefixes: string[] = [];
  for (const line of args) {
    if (line === "symrefs" || line === "peel" || line === "unborn") flags[line] = true;
    else if (line.startsWith(prefix)) prefixes.push(line.slice(prefix.length));
    else return undefined;
  }
  return prefixes.length > prefixesMax ? undefined : { ...flags, prefixes };
}

/** Whether refs of the service's own may be among the requested ones. */
export function wantsServiceRefs({ prefixes }: LsRefsParams): boolean {
  const overlaps = (begin: string) =>
    begin.startsWith(servicePrefix) || servicePrefix.startsWith(begin);
  return prefixes.length === 0 || prefixes.some(overlaps);
}

/** Answers as git does, HEAD first. */
export function lsRefsAnswer(
  { symrefs, peel, unborn, prefixes }: LsRefsParams,
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
