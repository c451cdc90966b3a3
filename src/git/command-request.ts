import { PacketMalformed, packetAt } from "./pkt-line.ts";

/** A command of protocol version 2: `ls-refs`, `fetch`; gitprotocol-v2(5), "Command Request". */
export type CommandRequest = Readonly<{
  command: string;
  capabilities: readonly string[];
  args: readonly string[];
}>;

/** @returns undefined when it is none, or more than one: then git says what it thinks of it */
export function parseCommandRequest(body: Buffer): CommandRequest | undefined {
  try {
    const [[first = "", ...capabilities] = [], args = [], ...rest] = sections(body);
    if (!first.startsWith("command=") || rest.length > 0) return undefined;
    return { command: first.slice("command=".length), capabilities, args };
  } catch (error) {
    if (error instanceof PacketMalformed) return undefined;
    throw error;
  }
}

/** The lines up to each delimiter and the end. @throws PacketMalformed */
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
