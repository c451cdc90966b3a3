import type { FileVariables } from "./field.ts";
import type { JobConfig } from "./job-schema.ts";
import { entryMark, markEntry } from "./mark.ts";
import { isMap, newMap, type Yaml, type YamlMap } from "./value.ts";

/** The keywords of a job over those of `default`, as far as the job takes them. */
export function withDefaults(own: YamlMap, defaults: YamlMap): YamlMap {
  const inherit = isMap(own["inherit"]) ? own["inherit"]["default"] : undefined;
  if (inherit === false) return own;
  const isTaken = (key: string) => !Array.isArray(inherit) || inherit.includes(key);
  const whole = newMap();
  for (const source of [defaults, own]) {
    for (const [key, value] of Object.entries(source)) {
      if (source === defaults && (!isTaken(key) || own["trigger"] !== undefined)) continue;
      whole[key] = value as Yaml;
      const mark = entryMark(source, key);
      if (mark !== undefined) markEntry(whole, key, mark);
    }
  }
  return whole;
}

export function inheritedVariables({ inherit }: JobConfig, common: FileVariables): FileVariables {
  const wanted = inherit?.variables;
  if (wanted === false) return new Map();
  if (!Array.isArray(wanted)) return common;
  return new Map([...common].filter(([key]) => wanted.includes(key)));
}
