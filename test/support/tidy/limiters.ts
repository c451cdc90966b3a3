import { codeOf } from "./code-of.ts";

/** Packages that bound what runs at once. */
const packages =
  /\bfrom "(?:p-(?:limit|queue|throttle|all|map)|async-(?:mutex|sema|lock)|bottleneck|generic-pool|semaphore[\w-]*)"/;
const named =
  /\bclass \w*(?:Limiter|Limit|Share|Slots|Seats|Budget|Semaphore|Permits|Mutex|Pool)\b/;

/**
 * What in a source file bounds how much is held at once without `Limit`: a count that goes up and down, a map of
 * such counts, a collection that is compared with a maximum and shrinks again, a queue of functions that resolve
 * promises, a class with such a name, a package.
 */
export function limitersIn(source: string): readonly string[] {
  const code = codeOf(source);
  const found = [...countsIn(code), ...sizesIn(code), ...queuesIn(code)];
  if (named.test(code)) found.push("a class by the name of a limiter");
  if (packages.test(source)) found.push("a package of limiters");
  return found;
}

const lastName = (path: string): string => path.replaceAll(/^.*[.#]/g, "");

function countsIn(code: string): readonly string[] {
  const names = (pattern: RegExp) =>
    new Set(
      [...code.matchAll(pattern)].map(([, before, after]) => lastName(before ?? after ?? "")),
    );
  const up = names(/([\w.#]+)(?: \+= |\+\+)|\+\+([\w.#]+)/g);
  const down = names(/([\w.#]+)(?: -= |--)|--([\w.#]+)/g);
  const found = [...up].filter((name) => down.has(name)).map((name) => `counts ${name}`);
  const isOfMaps = /\.set\([^;]*\+ 1\b/.test(code) && /\?\? [01]\)? - 1\b/.test(code);
  return isOfMaps ? [...found, "counts by key"] : found;
}

function sizesIn(code: string): readonly string[] {
  const compared = code.matchAll(/([\w#]+)\.(?:size|length) (?:>=?|<=?) (?!\d)/g);
  return [...new Set([...compared].map(([, name = ""]) => name))]
    .filter((name) => code.includes(`${name}.delete(`) || code.includes(`${name}.splice(`))
    .map((name) => `compares the size of ${name}`);
}

function queuesIn(code: string): readonly string[] {
  const resolvers = code.matchAll(/new Promise(?:<[^(]*>)?\(\(?(\w+)/g);
  return [...new Set([...resolvers].map(([, name = ""]) => name))]
    .filter((name) => new RegExp(`\\.(?:push|unshift)\\([^;]*\\b${name}\\b`).test(code))
    .map((name) => `queues ${name}`);
}
