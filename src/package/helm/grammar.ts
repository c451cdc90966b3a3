import { badFile } from "../core/coordinates.ts";

/** Metadata.Validate of Helm (Apache-2.0), constraints as github.com/Masterminds/semver v3 (MIT) reads them. */

const lengthMax = 512;
const number = "(?:\\d{1,18}|[xX*])";
const labels = "[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*";
const version = `v?${number}(?:\\.${number}){0,2}(?:-${labels})?(?:\\+${labels})?`;
const operators = "(?:=|==|!=|>|<|>=|=>|<=|=<|~|~>|\\^)";
const one = new RegExp(`^${operators}?${version}$`);
const plain = new RegExp(`^${version}$`);

export function isHelmConstraint(text: string): boolean {
  if (text.length > lengthMax) return false;
  return text.split("||").every((part) => {
    const words = part
      .trim()
      .split(/\s+/)
      .join(" ")
      .replaceAll(/ ?, ?/g, ",")
      .replaceAll(/([=!<>~^]) /g, "$1")
      .split(/[, ]/);
    if (words.length === 1 && words[0] === "") return false;
    for (let at = 0; at < words.length; at += 1) {
      const [from = "", dash, to = ""] = words.slice(at, at + 3);
      if (dash === "-") {
        if (!plain.test(from) || !plain.test(to)) return false;
        at += 2;
      } else if (!one.test(from)) return false;
    }
    return true;
  });
}

const aliasForm = /^[a-zA-Z0-9_-]+$/;

export type ShownChart = Readonly<{
  apiVersion: string;
  kubeVersion?: string | undefined;
  dependencies?:
    | readonly Readonly<{
        name: string;
        version?: string | undefined;
        alias?: string | undefined;
      }>[]
    | undefined;
}>;

/** @throws Refusal 422 in the words of Helm */
export function checkHelm({ apiVersion, kubeVersion, dependencies = [] }: ShownChart): void {
  if (!/^v[12]$/.test(apiVersion)) throw badFile(`apiVersion '${apiVersion}' is not valid.`);
  if (kubeVersion !== undefined && !isHelmConstraint(kubeVersion)) {
    throw badFile(`improper constraint: kubeVersion ${kubeVersion}`);
  }
  const names = new Set<string>();
  for (const { name, version: wanted, alias } of dependencies) {
    if (alias !== undefined && alias !== "" && !aliasForm.test(alias)) {
      throw badFile(`dependency "${name}" has disallowed characters in the alias`);
    }
    const key = alias || name;
    if (key === "") throw badFile("dependencies must have a name");
    if (names.has(key)) throw badFile(`more than one dependency with name or alias "${key}"`);
    names.add(key);
    if (wanted !== undefined && wanted !== "" && !isHelmConstraint(wanted)) {
      throw badFile(`dependency "${name}" has an invalid version/constraint format: ${wanted}`);
    }
  }
}
