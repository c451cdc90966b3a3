import { rm, writeFile } from "node:fs/promises";
import path from "node:path";

/** Passes variables to a container without their values in arguments, which all users of the machine see. */
export type Passed = Readonly<{
  /** Text of a file for `--env-file`. */
  file: string;
  /** For the client of the engine, which passes those that `--env` names. */
  environment: Readonly<Record<string, string>>;
  /** Names of variables that cannot be passed. */
  omitted: readonly string[];
}>;

/**
 * What Docker and podman, in all their versions, read from a line of a file as it is. Some remove quotes, end a value
 * at `#` or replace `$`, and Docker refuses long lines.
 */
const plain = /^[ !%&(-[\]-_a-~]{0,30000}$/;

/** Names that a client of an engine, or a library in it, may read from its environment. */
const readByClients = new Set([
  ...["PATH", "HOME", "PWD", "USER", "LOGNAME", "SHELL", "ENV", "TERM", "TMPDIR", "TMP", "TEMP"],
  ...["LANG", "LANGUAGE", "TZ", "TZDIR", "ZONEINFO", "LOCPATH", "NLSPATH", "GCONV_PATH"],
  ...["GETCONF_DIR", "HOSTALIASES", "LOCALDOMAIN", "NIS_PATH", "RESOLV_HOST_CONF", "GNUPGHOME"],
  ...["SSL_CERT_FILE", "SSL_CERT_DIR", "KUBECONFIG", "LOGLEVEL", "REQUEST_METHOD", "CONTAINER"],
  ...["HOST_ROOT", "INVOCATION_ID", "JOURNAL_STREAM"],
]);
const readFamilies = [
  ...["BASH", "BUILDAH", "BUILDKIT", "BUILDX", "CONTAINER", "CONTAINERS", "DBUS", "DOCKER", "G"],
  ...["GIO", "GLIBC", "GPGME", "LC", "LD", "LIBC", "LISTEN", "MALLOC", "MOBY", "NOTIFY"],
  ...["OCICRYPT"],
  ...["OPENSSL", "OTEL", "PODMAN", "REGISTRIES", "REGISTRY", "RES", "SSH", "STORAGE", "SUDO"],
  ...["WATCHDOG", "XDG"],
];

function mayBeRead(name: string): boolean {
  const upper = name.toUpperCase();
  const [family = ""] = upper.split("_");
  const isOfFamily = upper !== family && (family === "" || readFamilies.includes(family));
  // All of Go's have no underscore.
  const isOfGo = /^GO[A-Z]+$/.test(upper);
  return readByClients.has(upper) || isOfFamily || isOfGo || upper.endsWith("_PROXY");
}

/**
 * The file takes what it can, since a list of the names that clients read is never complete. Other values, such as
 * those of several lines, are in the environment of the client, unless their names may mean something to it.
 *
 * @param variables whose names are identifiers
 */
export function passedOf(variables: ReadonlyMap<string, string>): Passed {
  const lines: string[] = [];
  const environment: Record<string, string> = {};
  const omitted: string[] = [];
  for (const [name, value] of variables) {
    if (plain.test(value) && value === value.trim()) lines.push(`${name}=${value}\n`);
    else if (mayBeRead(name)) omitted.push(name);
    else environment[name] = value;
  }
  return { file: lines.join(""), environment, omitted };
}

/**
 * @param directory of the agent alone
 * @param create gets options of the command that makes the container
 */
export async function passing<Result>(
  { file, environment }: Passed,
  directory: string,
  create: (options: readonly string[]) => Promise<Result>,
): Promise<Result> {
  const variables = path.join(directory, "variables");
  await writeFile(variables, file, { mode: 0o600, flag: "wx" });
  const names = Object.keys(environment).flatMap((name) => ["--env", name]);
  try {
    return await create(["--env-file", variables, ...names]);
  } finally {
    await rm(variables, { force: true });
  }
}
