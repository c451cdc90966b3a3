import { entryMark, failAt, markAt, markEntry } from "./mark.ts";
import { isList, isMap, type Mark, newMap, Reference, type Yaml, type YamlMap } from "./value.ts";

/** As many as GitLab follows. */
const extendsDepthMax = 11;
const referenceDepthMax = 10;
/** Values that `extends` and `!reference` may make of a file. */
const valuesMax = 400_000;

/** Both maps with all their keys; where both have one that is no map, `over` wins. */
export function mergeMaps(under: YamlMap, over: YamlMap): YamlMap {
  const merged = newMap();
  for (const source of [under, over]) {
    for (const [key, value] of Object.entries(source)) {
      const before = merged[key];
      merged[key] = isMap(before) && isMap(value) ? mergeMaps(before, value) : value;
      const mark = entryMark(source, key);
      if (mark !== undefined) markEntry(merged, key, mark);
    }
  }
  return merged;
}

/**
 * Puts what `!reference` names in its place. A list inside a list stays one; who reads scripts
 * flattens it.
 *
 * @throws PipelineFileError for what is not there, a circle, and too much of it
 */
export function resolveReferences(root: YamlMap, rootMark: Mark): YamlMap {
  const known = new Map<object, Yaml>();
  let values = 0;

  function resolve(value: Yaml, mark: Mark, depth: number): Yaml {
    if (value instanceof Reference) return follow(value, mark, depth);
    if (!isMap(value) && !isList(value)) return value;
    const before = known.get(value);
    if (before !== undefined) return before;
    const entries = Object.entries(value).map(([key, entry]): [string, Yaml, Mark] => {
      const at = entryMark(value, key) ?? mark;
      return [key, resolve(entry as Yaml, at, depth), at];
    });
    values += entries.length;
    if (values > valuesMax) failAt(mark, "", `References expand to more than ${valuesMax} values.`);
    const resolved = isList(value) ? listOf(entries) : mapOf(entries);
    known.set(value, resolved);
    return resolved;
  }

  function follow({ path }: Reference, mark: Mark, depth: number): Yaml {
    const name = `!reference [${path.join(", ")}]`;
    if (depth >= referenceDepthMax) {
      failAt(mark, "", `${name}: references are nested deeper than ${referenceDepthMax} levels.`);
    }
    let value: Yaml | undefined = root;
    for (const key of path) {
      value = isMap(value) && Object.hasOwn(value, key) ? value[key] : undefined;
      if (value instanceof Reference) value = follow(value, mark, depth + 1);
    }
    if (value === undefined) return failAt(mark, "", `${name} names nothing in this file.`);
    return resolve(value, markAt(root, path, mark), depth + 1);
  }

  return resolve(root, rootMark, 0) as YamlMap;
}

function listOf(entries: readonly (readonly [string, Yaml, Mark])[]): readonly Yaml[] {
  const list = entries.map(([, value]) => value);
  for (const [key, , mark] of entries) markEntry(list, key, mark);
  return list;
}

function mapOf(entries: readonly (readonly [string, Yaml, Mark])[]): YamlMap {
  const map = newMap();
  for (const [key, value, mark] of entries) {
    map[key] = value;
    markEntry(map, key, mark);
  }
  return map;
}

type Extended = Readonly<{ job: YamlMap; levels: number }>;

/**
 * Every job with what it `extends` below its own keys.
 *
 * @throws PipelineFileError for what is not there, a circle, and chains that are too long
 */
export function extendJobs(root: YamlMap, rootMark: Mark): YamlMap {
  const done = new Map<string, Extended>();

  function extended(name: string, job: YamlMap, chain: readonly string[]): Extended {
    const known = done.get(name);
    if (known !== undefined) return known;
    const mark = markAt(root, [name, "extends"], rootMark);
    const parents = job["extends"];
    if (parents === undefined) return { job, levels: 0 };
    const names = typeof parents === "string" ? [parents] : parents;
    if (!isList(names) || !names.every((each) => typeof each === "string")) {
      return failAt(mark, `${name}.extends`, "It must be a name or a list of names.");
    }
    let base = newMap();
    let levels = 0;
    for (const parentName of names) {
      const parent = Object.hasOwn(root, parentName) ? root[parentName] : undefined;
      if (chain.includes(parentName) || parentName === name) {
        failAt(mark, `${name}.extends`, `${parentName} and ${name} extend each other.`);
      }
      if (!isMap(parent)) {
        return failAt(mark, `${name}.extends`, `There is no job ${parentName} to extend.`);
      }
      const inherited =
        chain.length > extendsDepthMax ? undefined : extended(parentName, parent, [...chain, name]);
      levels = Math.max(levels, (inherited?.levels ?? 0) + 1);
      if (inherited === undefined || levels > extendsDepthMax) {
        return failAt(
          mark,
          `${name}.extends`,
          `More than ${extendsDepthMax} levels extend one another.`,
        );
      }
      base = mergeMaps(base, inherited.job);
    }
    const { extends: _, ...inherited } = base;
    const whole = mergeMaps(Object.assign(newMap(), inherited), job);
    for (const key of Object.keys(inherited)) {
      const at = entryMark(job, key) ?? entryMark(base, key);
      if (at !== undefined) markEntry(whole, key, at);
    }
    const result = { job: whole, levels };
    done.set(name, result);
    return result;
  }

  const jobs = newMap();
  for (const [name, value] of Object.entries(root)) {
    jobs[name] = isMap(value) ? extended(name, value, []).job : value;
    const mark = entryMark(root, name);
    if (mark !== undefined) markEntry(jobs, name, mark);
  }
  return jobs;
}
