const units = [
  ["year", 365 * 24 * 60 * 60],
  ["month", 30 * 24 * 60 * 60],
  ["day", 24 * 60 * 60],
  ["hour", 60 * 60],
  ["minute", 60],
] as const;

/** How long ago something happened, in the largest whole unit: `3 hours ago`; `just now` below a minute. */
export function elapsedText(from: Date, now: Date): string {
  const seconds = (now.getTime() - from.getTime()) / 1_000;
  for (const [unit, length] of units) {
    const count = Math.floor(seconds / length);
    if (count >= 1) return `${count} ${unit}${count === 1 ? "" : "s"} ago`;
  }
  return "just now";
}
