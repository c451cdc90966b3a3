const secondsOf: Readonly<Record<string, number>> = {
  s: 1,
  sec: 1,
  second: 1,
  m: 60,
  min: 60,
  minute: 60,
  h: 3_600,
  hr: 3_600,
  hour: 3_600,
  d: 86_400,
  day: 86_400,
  w: 604_800,
  wk: 604_800,
  week: 604_800,
  mo: 2_592_000,
  mos: 2_592_000,
  month: 2_592_000,
  y: 31_557_600,
  yr: 31_557_600,
  year: 31_557_600,
};

const secondsMax = 100 * 31_557_600;

/**
 * Seconds of a duration as pipeline files write it: `90`, `1h 30m`, `2 weeks and 3 days`.
 *
 * @returns undefined for anything else
 */
export function parseDuration(text: string): number | undefined {
  const trimmed = text.trim().toLowerCase();
  if (trimmed.length > 100) return undefined;
  if (/^\d{1,10}$/.test(trimmed)) return bounded(Number(trimmed));
  const parts = trimmed.replaceAll(/\band\b|,/g, " ").trim();
  if (!/^(?:\d{1,9}(?:\.\d{1,3})? ?[a-z]+ ?)+$/.test(parts.replaceAll(/\s+/g, " "))) {
    return undefined;
  }
  let seconds = 0;
  for (const [, amount, unit = ""] of parts.matchAll(/\s*(\d+(?:\.\d+)?)\s*([a-z]+)/gy)) {
    const singular = Object.hasOwn(secondsOf, unit) ? unit : unit.replace(/s$/, "");
    const each = Object.hasOwn(secondsOf, singular) ? secondsOf[singular] : undefined;
    if (each === undefined) return undefined;
    seconds += Number(amount) * each;
  }
  return bounded(Math.round(seconds));
}

const bounded = (seconds: number): number | undefined =>
  seconds <= secondsMax ? seconds : undefined;
