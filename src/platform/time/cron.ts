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
 * @param timezone IANA name
 * @returns null when there is none, as on the 30th of February
 * @throws CronError when expression or time zone is malformed
 */
export function nextRun(expression: string, timezone: string, after: Date): Date | null {
  if (expression.length > expressionLengthMax || expression.trim().split(/\s+/).length !== 5) {
    throw new CronError("A schedule has five fields: minute, hour, day, month, day of the week.");
  }
  try {
    const cron = new Cron(expression.trim(), { timezone, paused: true });
    return cron.nextRun(after);
  } catch (error) {
    throw new CronError(error instanceof Error ? firstSentence(error.message) : String(error));
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

const firstSentence = (text: string): string => `${text.split(". ")[0]?.slice(0, 200)}.`;
