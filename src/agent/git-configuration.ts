export type ConfigEntry = readonly [key: string, value: string];

/** Variables by which git reads settings from the environment; no file holds them. */
export function gitConfiguration(entries: readonly ConfigEntry[]): readonly ConfigEntry[] {
  const variables = entries.flatMap(([key, value], index): ConfigEntry[] => [
    [`GIT_CONFIG_KEY_${index}`, key],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ]);
  return [["GIT_CONFIG_COUNT", String(entries.length)], ...variables];
}
