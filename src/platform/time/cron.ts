import { Cron } from "croner";

/** Shorter than this between two runs is refused: a schedule is no queue. */
const intervalMinMs = 5 * 60_000;
const expressionLengthMax = 100;

export class CronError extends Error {
  override readonly name = "CronError";
}

/**
 * The first time after `after` that a crontab expression of five fields names in a time zone.
 *
 * @param timezone IANA name; empty for that of the process
 * @returns null when there is none, as on the 30th of February
 * @throws CronError when expression or time zone is malformed
 */
export function nextRun(expression: string, timezone: string, after: Date): Date | null {
  if (expression.length > expressionLengthMax || expression.trim().split(/\s+/).length !== 5) {
    throw new CronError("A schedule has five fields: minute, hour, day, month, day of the week.");
  }
  if (timezone !== "" && !isTimezone(timezone)) {
    throw new CronError(`There is no time zone ${timezone.slice(0, expressionLengthMax)}.`);
  }
  try {
    const cron = new Cron(expression.trim(), { timezone, paused: true });
    return cron.nextRun(after);
  } catch (error) {
    throw new CronError(messageOf(error));
  }
}

/** @throws CronError also for a schedule that runs more often than every five minutes */
export function checkCron(expression: string, timezone: string, now: Date): void {
  let before = nextRun(expression, timezone, now);
  if (before === null) throw new CronError("The schedule never runs.");
  for (let run = 0; run < 3; run += 1) {
    const next = nextRun(expression, timezone, before);
    if (next === null) return;
    if (next.getTime() - before.getTime() < intervalMinMs) {
      throw new CronError("A schedule runs every five minutes at most.");
    }
    before = next;
  }
}

function isTimezone(timeZone: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone });
    return true;
  } catch {
    return false;
  }
}

/** The first sentence of the library's message, without the name of its class. */
function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const [first = ""] = text.replace(/^Cron\w+: /, "").split(". ");
  return `${first.slice(0, 1).toUpperCase()}${first.slice(1, 200).replace(/\.$/, "")}.`;
}
