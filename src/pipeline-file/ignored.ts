import { isList, isMap, type Yaml, type YamlMap } from "./value.ts";

/** Keywords that files may have, for features that this service does not have. */
const keys = ["pages", "publish", "identity", "dast_configuration"] as const;
const below = {
  release: ["milestones", "released_at"],
  image: ["kubernetes"],
  environment: ["kubernetes"],
  // One that is written without a list.
  services: ["kubernetes"],
} as const;

/** Paths of what has no effect in a job, or in what holds for all jobs. */
export function ignoredIn(keywords: YamlMap): readonly (readonly PropertyKey[])[] {
  const has = (value: Yaml | undefined, key: string): boolean =>
    isMap(value) && Object.hasOwn(value, key);
  const services = keywords["services"];
  return [
    ...keys.filter((key) => has(keywords, key)).map((key) => [key]),
    ...Object.entries(below).flatMap(([key, inner]) =>
      inner.filter((each) => has(keywords[key], each)).map((each) => [key, each]),
    ),
    ...(isList(services) ? services : []).flatMap((service, index) =>
      has(service, "kubernetes") ? [["services", index, "kubernetes"]] : [],
    ),
  ];
}
