import { breather } from "../../platform/breather.ts";
import { isNullObjectId, isObjectId } from "../name.ts";
import { flushPacket, packet, packetAt } from "../pkt-line.ts";

/** A change of one ref that the client requests; null where the ref does not exist before or after. */
export type PushCommand = Readonly<{ ref: string; before: string | null; after: string | null }>;

export type PushHead = Readonly<{
  commands: readonly PushCommand[];
  capabilities: ReadonlySet<string>;
}>;

/** What the client sent is not a push we can carry out; the message is for its user. */
export class PushMalformed extends Error {
  override readonly name = "PushMalformed";
  /** Whether the client said that it takes errors through the side band. */
  sideBand = false;
}

/** A mirror of the largest known repositories; more is an attack on memory. */
const commandsMax = 100_000;
export const pushHeadBytesMax = 32 * 1024 ** 2;

/**
 * Reads the commands of a push up to the flush packet; gitprotocol-pack(5), "Reference Update
 * Request".
 *
 * @param buffer whole, the flush included
 * @throws PushMalformed, PacketMalformed
 */
export async function parsePushHead(buffer: Buffer): Promise<PushHead> {
  const capabilities = new Set<string>();
  try {
    return { commands: await parseCommands(buffer, capabilities), capabilities };
  } catch (error) {
    if (error instanceof PushMalformed) error.sideBand = capabilities.has("side-band-64k");
    throw error;
  }
}

/** @param capabilities filled from the first command */
async function parseCommands(
  buffer: Buffer,
  capabilities: Set<string>,
): Promise<readonly PushCommand[]> {
  const breathe = breather();
  const commands: PushCommand[] = [];
  const seen = new Set<string>();
  for (let offset = 0; ; ) {
    await breathe();
    const next = packetAt(buffer, offset);
    if (next.kind === "partial") throw new PushMalformed("the push broke off");
    if (next.kind === "flush") return commands;
    offset = next.end;
    const line = textOf(next.payload).replace(/\n$/, "");
    // A shallow client sends the ends of its history, which only git uses.
    if (/^shallow [0-9a-f]{40,64}$/.test(line)) continue;
    const [command = "", words = ""] = line.split("\0", 2);
    // Those of others are not read: with as many words as fit into them they would take a gigabyte of memory.
    if (commands.length === 0) for (const word of words.split(" ")) capabilities.add(word);
    const parsed = parseCommand(command);
    if (seen.has(parsed.ref)) throw new PushMalformed(`${parsed.ref} is named twice`);
    seen.add(parsed.ref);
    commands.push(parsed);
    if (commands.length > commandsMax) throw new PushMalformed("too many refs in one push");
  }
}

function parseCommand(line: string): PushCommand {
  const [before = "", after = "", ...words] = line.split(" ");
  const ref = words.join(" ");
  if (!isObjectId(before) || !isObjectId(after) || before.length !== after.length) {
    throw new PushMalformed("this kind of push is not supported");
  }
  if (!isPrintable(ref)) throw new PushMalformed(`${JSON.stringify(ref)} cannot be pushed`);
  return {
    ref,
    before: isNullObjectId(before) ? null : before,
    after: isNullObjectId(after) ? null : after,
  };
}

/** Longest name that fits into one packet of a report, with a reason. */
const refLengthMax = 4_096;

/** Whether a refusal can name the ref; which names may be pushed is not for the parser to say. */
function isPrintable(ref: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused.
  return ref.length > 0 && ref.length <= refLengthMax && !/[\x00-\x20\x7f]/.test(ref);
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Names of refs become text in events and answers: bytes that are not UTF-8 have none. */
function textOf(payload: Buffer): string {
  try {
    return utf8.decode(payload);
  } catch {
    throw new PushMalformed("a ref's name is not UTF-8");
  }
}

/**
 * The same commands without some, for git to carry out the rest.
 *
 * @param buffer whole and well-formed, the flush included
 * @param left names of refs to leave out
 */
export async function withoutCommands(
  buffer: Buffer,
  left: (ref: string) => boolean,
): Promise<Buffer> {
  const breathe = breather();
  const packets: Buffer[] = [];
  // Capabilities go with the first command, whichever that is now.
  let capabilities = "";
  let capable = false;
  for (let offset = 0; ; ) {
    await breathe();
    const next = packetAt(buffer, offset);
    if (next.kind !== "data") return Buffer.concat([...packets, flushPacket]);
    offset = next.end;
    const line = next.payload.toString("utf8").replace(/\n$/, "");
    if (line.startsWith("shallow ")) {
      packets.push(packet(line));
      continue;
    }
    const [command = "", words] = line.split("\0", 2);
    if (words !== undefined) capabilities = words;
    if (left(command.split(" ").slice(2).join(" "))) continue;
    packets.push(packet(capable ? command : `${command}\0${capabilities}`));
    capable = true;
  }
}
