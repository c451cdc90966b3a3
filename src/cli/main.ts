import { ConfigError } from "../config.ts";
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

const exitUsage = 64;
const exitOutput = 74;
const exitConfig = 78;

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
    if (error instanceof ConfigError) {
      write(process.stderr, `${error.message}\n`);
      return exitConfig;
    }
    if (error instanceof OutputIncomplete) {
      write(process.stderr, `${error.message}\n`);
      return exitOutput;
    }
    if (!isBadArgument(error)) throw error;
    write(process.stderr, `${error.message}\n`);
    return exitUsage;
  }
}

/** Of node's parseArgs: an option that the command does not have. */
function isBadArgument(error: unknown): error is Error {
  return error instanceof Error && "code" in error && /^ERR_PARSE_ARGS/.test(String(error.code));
}

function usage(name: string): number {
  const wanted = ["help", "--help", "-h"].includes(name);
  const lines = Object.entries(commands).map(
    ([command, [text]]) => `  ${command.padEnd(12)} ${text}`,
  );
  const problem = wanted || name === "" ? "" : `No command named ${name}.\n`;
  const text = `${problem}Usage: ledgerforge <command>\n\n${lines.join("\n")}\n`;
  write(wanted ? process.stdout : process.stderr, text);
  return wanted ? 0 : exitUsage;
}
