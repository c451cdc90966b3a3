const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] as const;

/** `1.5 GiB`: for people, rounded down to a tenth, so that it never promises more than there is. */
export function bytesText(bytes: number): string {
  const power = Math.max(
    0,
    units.findLastIndex((_, index) => bytes >= 1024 ** index),
  );
  const tenths = Math.floor((bytes / 1024 ** power) * 10);
  return `${tenths / 10} ${units[power]}`;
}
