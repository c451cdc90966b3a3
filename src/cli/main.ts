import { ConfigError } from "../config.ts";
import { CommandEnd, exits } from "./command-end.ts";
import { OutputIncomplete } from "./lines.ts";
import { write } from "./write.ts";

/** A command: gets what follows its name on the command line, gives the exit code. */
type Command = Readonly<{ run: (args: readonly string[]) => Promise<number> }>;

/** Each in a file of its own, loaded only when it is called. */
const commands: Readonly<Record<string, readonly [string, () => Promise<Command>]>> = {
  start: [
    "[role…]   everything on this machine; with roles (http, projections, workers, ssh, agent) only those",
    () => import("./start.ts"),
  ],
  agent: [
    "register | run | unregister   a machine that runs jobs of pipelines",
    () => import("./agent.ts"),
  ],
  demo: [
    "the whole round with real programs, against a service of its own",
    () => import("./demo.ts"),
  ],
  rebuild: [
    "[name…] [--verify | --until time]   build read models from the log while the service answers",
    () => import("./rebuild.ts"),
  ],
  doctor: [
    "[--repair] [--read-models]   look for what does not fit together",
    () => import("./doctor.ts"),
  ],
  "set-aside": [
    "[--retry [event…]]   list events that reactors set aside, or have them tried again",
    () => import("./set-aside.ts"),
  ],
  audit: [
    "[--project owner/alias | --team alias | --company alias] [--user alias] [--kind kind] [--type type,…] " +
      "[--subject id] [--correlation id] [--since day] [--until day] [--json | --csv] | " +
      "verify [--head file] [--expect mark]   who did what",
    () => import("./audit.ts"),
  ],
  scan: [
    "[owner/alias…]   record what was changed in repositories behind the service's back",
    () => import("./scan.ts"),
  ],
  events: [
    "export [--sealed | --keys] | import file [--keys file] [--head file] | note-lost-keys   the log as JSON lines",
    () => import("./events.ts"),
  ],
  backup: [
    "<directory>   everything that cannot be made again, while the service answers",
    () => import("./backup.ts"),
  ],
  restore: [
    "<directory>   put a backup into an empty instance that does not run",
    () => import("./restore.ts"),
  ],
  forget: [
    "<alias>   make everything personal about a user unreadable, for ever",
    () => import("./forget.ts"),
  ],
  admin: [
    "reset-password <alias> | settings reset <group>   let an administrator in again",
    () => import("./admin.ts"),
  ],
  openapi: ["write the description of the REST interface to stdout", () => import("./openapi.ts")],
  "event-store": [
    "--socket path   serve the event store from DATABASE_URL",
    () => import("./event-store.ts"),
  ],
};

// Files of the service and of the programs it starts are for its own user alone.
process.umask(0o077);
process.exit(await main(process.argv.slice(2)));

async function main([name = "", ...args]: readonly string[]): Promise<number> {
  const [what, load] = (Object.hasOwn(commands, name) ? commands[name] : undefined) ?? [];
  if (load === undefined) return usage(name);
  if (args.includes("--help") || args.includes("-h")) {
    write(process.stdout, `Usage: ledgerforge ${name} ${what}\n`);
    return 0;
  }
  try {
    return await (await load()).run(args);
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
  // Of node's parseArgs: an option that the command does not have.
  const isBadArgument = "code" in error && /^ERR_PARSE_ARGS/.test(String(error.code));
  return isBadArgument ? exits.usage : undefined;
}

function usage(name: string): number {
  const wanted = ["help", "--help", "-h"].includes(name);
  const lines = Object.entries(commands).map(
    ([command, [text]]) => `  ${command.padEnd(12)} ${text}`,
  );
  const problem = wanted || name === "" ? "" : `No command named ${name}.\n`;
  const text = `${problem}Usage: ledgerforge <command>\n\n${lines.join("\n")}\n`;
  write(wanted ? process.stdout : process.stderr, text);
  return wanted ? 0 : exits.usage;
}
