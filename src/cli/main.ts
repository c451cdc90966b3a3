import { ConfigError } from "../config.ts";
import { StoreUnavailable, UnsupportedServer } from "../platform/event-store/event-store.ts";
import { packageVersion } from "../platform/installation.ts";
import { CommandEnd, exits } from "./command-end.ts";
import { type CommandName, helpOf, overview } from "./help.ts";
import { OutputIncomplete } from "./lines.ts";
import { write } from "./write.ts";

/** A command: gets what follows its name on the command line, gives the exit code. */
type Command = Readonly<{ run: (args: readonly string[]) => Promise<number> }>;

/** Each in a file of its own, loaded only when it is called. */
const commands: Readonly<Record<CommandName, () => Promise<Command>>> = {
  start: () => import("./start.ts"),
  agent: () => import("./agent.ts"),
  demo: () => import("./demo.ts"),
  rebuild: () => import("./rebuild.ts"),
  doctor: () => import("./doctor.ts"),
  "set-aside": () => import("./set-aside.ts"),
  audit: () => import("./audit.ts"),
  scan: () => import("./scan.ts"),
  events: () => import("./events.ts"),
  backup: () => import("./backup.ts"),
  restore: () => import("./restore.ts"),
  forget: () => import("./forget.ts"),
  admin: () => import("./admin.ts"),
  openapi: () => import("./openapi.ts"),
  "event-store": () => import("./event-store.ts"),
};

// Files of the service and of the programs it starts are for its own user alone.
process.umask(0o077);
process.exit(await main(process.argv.slice(2)));

async function main([name = "", ...args]: readonly string[]): Promise<number> {
  if (["help", "--help", "-h"].includes(name)) return tell(args[0]);
  if (name === "--version") {
    write(process.stdout, `${packageVersion}\n`);
    return 0;
  }
  if (!isCommand(name)) return unknown(name);
  if (args.includes("--help") || args.includes("-h")) return tell(name);
  try {
    return await (await commands[name]()).run(args);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const exitCode = exitCodeOf(error);
    if (exitCode === undefined) throw error;
    write(process.stderr, `${error.message}\n`);
    return exitCode;
  }
}

/** Undefined for what nobody expected. */
function exitCodeOf(error: Error): number | undefined {
  if (error instanceof CommandEnd) return error.exitCode;
  if (error instanceof ConfigError) return exits.config;
  if (error instanceof OutputIncomplete) return exits.output;
  if (error instanceof StoreUnavailable || error instanceof UnsupportedServer) return exits.store;
  // Of node's parseArgs: an option that the command does not have.
  const isBadArgument = "code" in error && /^ERR_PARSE_ARGS/.test(String(error.code));
  return isBadArgument ? exits.usage : undefined;
}

function isCommand(name: string): name is CommandName {
  return Object.hasOwn(commands, name);
}

function tell(name: string | undefined): number {
  if (name !== undefined && !isCommand(name)) return unknown(name);
  write(process.stdout, `${name === undefined ? overview() : helpOf(name)}\n`);
  return 0;
}

function unknown(name: string): number {
  const problem = name === "" ? "" : `No command named ${name}.\n`;
  write(process.stderr, `${problem}${overview()}\n`);
  return exits.usage;
}
