import { parseArgs } from "node:util";
import { type CommandName, usageOf } from "./help.ts";

/** As in sysexits.h; the last one as shells have it after Ctrl-C. */
export const exits = {
  notFound: 1,
  /** The event store is away, silent, denies access or is of an unsupported version. */
  store: 1,
  usage: 64,
  bad: 65,
  output: 74,
  busy: 75,
  config: 78,
  interrupted: 130,
} as const;

/** Ends a command with a text on stderr. */
export class CommandEnd extends Error {
  override readonly name = "CommandEnd";

  constructor(
    text: string,
    readonly exitCode: number = exits.usage,
  ) {
    super(text);
  }
}

/** For `catch`: once a command is interrupted, whatever fails in it ends it with this text. */
export const orInterrupted =
  (signal: AbortSignal, text: string) =>
  (error: unknown): never => {
    if (!signal.aborted || error instanceof CommandEnd) throw error;
    throw new CommandEnd(text, exits.interrupted);
  };

/** What a command is given, when that is one thing. @throws CommandEnd */
export function onlyArgument(args: readonly string[], name: CommandName): string {
  const { positionals } = parseArgs({ args: [...args], allowPositionals: true });
  const [given, ...more] = positionals;
  if (given === undefined || more.length > 0) throw new CommandEnd(usageOf(name));
  return given;
}
