/** As a word of POSIX shells, whatever the text holds; NUL cannot be in one. */
export const quoted = (text: string): string =>
  `'${text.replaceAll("\0", "").replaceAll("'", "'\\''")}'`;

type Script = Readonly<{
  variables: ReadonlyMap<string, string>;
  directory: string;
  lines: readonly string[];
  /** Whether every line is printed before it is run. */
  echoed: boolean;
  /** Whether the shell prints what it runs, with the values of variables. */
  traced?: boolean;
}>;

/**
 * A script that ends at the first line which fails, with its exit code. Shells without `pipefail` go on
 * without it.
 */
export function scriptOf({ variables, directory, lines, echoed, traced }: Script): string {
  const exported = [...variables].map(([key, value]) => `export ${key}=${quoted(value)}`);
  const run = lines.flatMap((line) => (echoed ? [echoOf(line), line] : [line]));
  return [
    "set -e",
    "if (set -o pipefail) 2>/dev/null; then set -o pipefail; fi",
    "umask 022",
    ...exported,
    `cd -- ${quoted(directory)}`,
    ...(traced === true ? ["set -x"] : []),
    ...run,
    "",
  ].join("\n");
}

function echoOf(line: string): string {
  const [first = "", ...more] = line.trimEnd().split("\n");
  const text = more.length === 0 ? first : `${first} # … and ${more.length} lines more`;
  return `printf '\\033[32;1m$ %s\\033[0;m\\n' ${quoted(text)}`;
}
