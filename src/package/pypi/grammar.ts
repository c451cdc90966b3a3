import pep440 from "@renovatebot/pep440";

import { badFile } from "../core/coordinates.ts";

/** Requirements as packaging reads them: PEP 508, with the specifiers and names of PEP 440 and 685. */

const lengthMax = 4_096;
const name = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?/;
const variables = new Set([
  ...["python_version", "python_full_version", "os_name", "sys_platform", "platform_release"],
  ...["platform_system", "platform_version", "platform_machine", "platform_python_implementation"],
  ...["implementation_name", "implementation_version", "extra", "extras", "dependency_groups"],
  ...["os.name", "sys.platform", "platform.version", "platform.machine", "python_implementation"],
  "platform.python_implementation",
]);

/** With one operator in front of each version. */
export function isPythonSpecifier(text: string): boolean {
  if (text.length > lengthMax) return false;
  const parts = text.split(",").map((part) => part.trim());
  // An empty one, and a comma at the end, mean nothing.
  return parts.every((part) => part === "" || isOneSpecifier(part));
}

function isOneSpecifier(part: string): boolean {
  const [, operator = "", version = ""] = /^(~=|===|==|!=|<=|>=|<|>)\s*(\S+)$/.exec(part) ?? [];
  if (operator === "") return false;
  if (operator === "===") return true;
  const isPrefix = version.endsWith(".*");
  const plain = isPrefix ? version.slice(0, -2) : version;
  if (pep440.valid(plain) === null) return false;
  if (operator === "~=")
    return !isPrefix && !plain.includes("+") && /^v?(?:\d+!)?\d+\.\d/i.test(plain);
  if (operator === "==" || operator === "!=") return !isPrefix || !/dev|\+/i.test(plain);
  return !isPrefix && !plain.includes("+");
}

export function isPythonRequirement(text: string): boolean {
  if (text.length > lengthMax) return false;
  const found = name.exec(text)?.[0];
  if (found === undefined) return false;
  let rest = text.slice(found.length).trimStart();
  if (rest.startsWith("[")) {
    const end = rest.indexOf("]");
    const extras = rest
      .slice(1, Math.max(1, end))
      .split(",")
      .map((each) => each.trim());
    const isEmpty = extras.length === 1 && extras[0] === "";
    if (end < 0 || !(isEmpty || extras.every((each) => name.exec(each)?.[0] === each)))
      return false;
    rest = rest.slice(end + 1).trimStart();
  }
  if (rest.startsWith("@")) {
    const [, marker] = /^@\s*\S+(?:\s+;(.*))?$/.exec(rest) ?? [];
    return (
      /^@\s*[^\s;]/.test(rest) && (marker === undefined ? !/\s;/.test(rest) : isMarker(marker))
    );
  }
  const semicolon = rest.indexOf(";");
  const written = (semicolon < 0 ? rest : rest.slice(0, semicolon)).trim();
  const inside = /^\((.*)\)$/s.exec(written)?.[1] ?? written;
  return isPythonSpecifier(inside) && (semicolon < 0 || isMarker(rest.slice(semicolon + 1)));
}

const operators = new Set(["<", "<=", "!=", "==", ">=", ">", "~=", "===", "in"]);
const word = /\s*(?:("[^"]*"|'[^']*')|(===|[<>=!~]=|[<>])|([()])|([A-Za-z_.]+))/y;

/** Comparisons, joined by `and` and `or`, in any parentheses: read in one pass. */
export function isMarker(text: string): boolean {
  const words: string[] = [];
  const end = text.trimEnd().length;
  for (word.lastIndex = 0; word.lastIndex < end; ) {
    const [, quoted, operator, parenthesis, plain] = word.exec(text) ?? [];
    const found = quoted ?? operator ?? parenthesis ?? plain;
    if (found === undefined) return false;
    words.push(quoted === undefined ? found : '""');
  }
  let [at, depth] = [0, 0];
  const isValue = (value = ""): boolean => value === '""' || variables.has(value);
  for (;;) {
    while (words[at] === "(") {
      depth += 1;
      at += 1;
    }
    const isNot = words[at + 1] === "not" && words[at + 2] === "in";
    const right = at + (isNot ? 3 : 2);
    if (!isValue(words[at]) || !isValue(words[right])) return false;
    if (!isNot && !operators.has(words[at + 1] ?? "")) return false;
    at = right + 1;
    while (words[at] === ")") {
      depth -= 1;
      at += 1;
      if (depth < 0) return false;
    }
    if (at >= words.length) return depth === 0;
    if (words[at] !== "and" && words[at] !== "or") return false;
    at += 1;
  }
}

/**
 * The fields of METADATA or PKG-INFO that installers parse.
 *
 * @throws Refusal 422 in their words
 */
export function checkPythonMetadata(head: string): void {
  for (const [field, text] of fieldsOf(head)) {
    if (field === "requires-python" && !isPythonSpecifier(text)) {
      throw badFile(`Requires-Python: Invalid specifier: '${text}'.`);
    }
    if (field === "requires-dist" && !isPythonRequirement(text)) {
      throw badFile(`Requires-Dist: Invalid requirement: '${text}'.`);
    }
    if (field === "provides-extra" && name.exec(text)?.[0] !== text) {
      throw badFile(`Provides-Extra: Invalid extra: '${text}'.`);
    }
    if (field === "metadata-version" && !/^[12]\.\d$/.test(text)) {
      throw badFile(`Metadata-Version: '${text}' is not a version of metadata.`);
    }
  }
}

/** With the lines that continue them. */
function fieldsOf(head: string): readonly (readonly [field: string, text: string])[] {
  const fields: [string, string][] = [];
  for (const line of head.split(/\r?\n/)) {
    const last = fields.at(-1);
    if (/^[ \t]/.test(line)) {
      if (last !== undefined) last[1] += ` ${line.trim()}`;
      continue;
    }
    const colon = line.indexOf(":");
    if (colon > 0) fields.push([line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]);
  }
  return fields;
}
