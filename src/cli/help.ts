/** What is said of a command: how it is called, what it does, its options, and an example. */
export type Help = Readonly<{
  /** What may follow the name, a line for each form. */
  forms: readonly string[];
  summary: string;
  options?: Readonly<Record<string, string>>;
  example: string;
}>;

export const help = {
  start: {
    forms: ["[role…]"],
    summary:
      "everything on this machine; with roles (http, projections, workers, ssh, agent) only those",
    example: "PORT=8080 ledgerforge start",
  },
  agent: {
    forms: [
      "register --url URL --token TOKEN [option…]",
      "run [--config FILE] [--concurrency N] [--once]",
      "unregister [--config FILE]",
    ],
    summary: "a machine that runs jobs of pipelines",
    options: {
      "--url URL": "address of the service",
      "--token TOKEN": "registration token of a project, a company or the service",
      "--name NAME": "name of the agent; that of the machine by default",
      "--tags a,b": "tags of the jobs that it runs",
      "--run-untagged": "runs jobs without tags as well; without --tags it always does",
      "--locked": "is not given to other projects",
      "--executor NAME": "bubblewrap (default), shell or docker",
      "--concurrency N": "how many jobs run at once, 1 by default",
      "--readable DIRECTORY": "what jobs may read beside the system; may be repeated",
      "--pull-policy a,b":
        "always (default), if-not-present or never; the first is the default of jobs",
      "--config FILE":
        "where token and settings are kept; ~/.config/ledgerforge/agent/config.json by default",
      "--once": "ends after one job",
    },
    example:
      "ledgerforge agent register --url https://forge.example --token lfrt_… --executor shell",
  },
  demo: {
    forms: [""],
    summary: "the whole round with real programs, against a service of its own",
    example: "ledgerforge demo",
  },
  rebuild: {
    forms: ["[name…] [--verify]", "[name…] --until TIME [--schema NAME]"],
    summary: "build read models from the log while the service answers; all, or those named",
    options: {
      "--verify": "compares the tables before and after; exit code 1 when they differ",
      "--until TIME": "builds them as they were then, into a schema of their own",
      "--schema NAME": "name of that schema",
    },
    example: "ledgerforge rebuild issue --verify",
  },
  doctor: {
    forms: ["[--repair] [--read-models]"],
    summary: "look for what does not fit together",
    options: {
      "--repair": "mends what can be mended",
      "--read-models": "builds the read models a second time and compares them",
    },
    example: "ledgerforge doctor --repair",
  },
  "set-aside": {
    forms: ["", "--retry [event…]"],
    summary: "list events that reactors set aside, or have them tried again",
    options: { "--retry": "tries all of them again, or those named" },
    example: "ledgerforge set-aside --retry",
  },
  audit: {
    forms: ["[option…]", "verify [--head FILE] [--expect MARK]"],
    summary: "who did what; or whether the log is unchanged",
    options: {
      "--project OWNER/ALIAS": "of a project",
      "--team ALIAS": "of a team",
      "--company ALIAS": "of a company",
      "--user ALIAS": "done by a user",
      "--kind KIND": "about things of a kind, for example ISSUE",
      "--type a,b": "events of these types",
      "--subject ID": "about one thing",
      "--correlation ID": "that followed from one request",
      "--since TIME": "from a time or a day on",
      "--until TIME": "before a time or a day",
      "--json": "as JSON lines",
      "--csv": "as CSV",
      "--head FILE": "an answer of /log/head that was kept: the log must begin with those events",
      "--expect MARK": "what an earlier verify ended with, events:hash",
    },
    example: "ledgerforge audit --project acme/search --since 2026-11-01",
  },
  scan: {
    forms: ["[owner/alias…]"],
    summary: "record what was changed in repositories behind the service's back",
    example: "ledgerforge scan acme/search",
  },
  events: {
    forms: [
      "export [--sealed | --keys]",
      "import FILE [--keys FILE] [--head FILE]",
      "note-lost-keys",
    ],
    summary: "the log as JSON lines",
    options: {
      "--sealed": "personal data stays sealed: such an export can be imported",
      "--keys": "of export: the keys that open it instead; of import: the file that holds them",
      "--head FILE":
        "an answer of /log/head that was kept: the export must begin with those events",
    },
    example: "ledgerforge events export --sealed > events.jsonl",
  },
  backup: {
    forms: ["DIRECTORY"],
    summary: "everything that cannot be made again, while the service answers",
    example: "ledgerforge backup /backup/ledgerforge",
  },
  restore: {
    forms: ["DIRECTORY"],
    summary: "put a backup into an empty instance that does not run",
    example: "DATA_DIR=/srv/new ledgerforge restore /backup/ledgerforge",
  },
  forget: {
    forms: ["ALIAS"],
    summary: "make everything personal about a user unreadable, for ever",
    example: "ledgerforge forget anna",
  },
  admin: {
    forms: ["reset-password ALIAS", "settings reset GROUP"],
    summary: "let an administrator in again",
    example: "ledgerforge admin reset-password admin",
  },
  openapi: {
    forms: [""],
    summary: "write the description of the REST interface to stdout",
    example: "ledgerforge openapi > openapi.json",
  },
  "event-store": {
    forms: ["--socket PATH"],
    summary: "serve the event store from DATABASE_URL",
    options: { "--socket PATH": "where it listens: in a directory for its owner alone" },
    example: "ledgerforge event-store --socket /run/ledgerforge/store.sock",
  },
} as const satisfies Readonly<Record<string, Help>>;

export type CommandName = keyof typeof help;

/** How a command is called, a line for each form. */
export function usageOf(name: CommandName): string {
  const lines = help[name].forms.map((form) => `ledgerforge ${name} ${form}`.trimEnd());
  return `Usage: ${lines.join("\n       ")}`;
}

export function helpOf(name: CommandName): string {
  const { summary, options = {}, example }: Help = help[name];
  const width = Math.max(...Object.keys(options).map(({ length }) => length));
  const lines = Object.entries(options).map(
    ([option, text]) => `  ${option.padEnd(width)}  ${text}`,
  );
  const parts = [
    usageOf(name),
    `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`,
    ...(lines.length > 0 ? [`Options:\n${lines.join("\n")}`] : []),
    `Example:\n  ${example}`,
  ];
  return parts.join("\n\n");
}

/** All commands, a line each. */
export function overview(): string {
  const lines = Object.entries(help).map(
    ([name, { summary }]) => `  ${name.padEnd(12)} ${summary}`,
  );
  return `Usage: ledgerforge <command>\n\n${lines.join("\n")}\n\nledgerforge help <command> says more; --version shows the release.`;
}
