import type { Progress } from "../projections/core/rebuild.ts";

const barCells = 30;
/** Often enough to watch, seldom enough to cost nothing. */
const redrawMs = 100;
const lineMs = 2_000;

type Output = Readonly<{ isTTY?: boolean; write: (text: string) => unknown }>;

export type ProgressView = Readonly<{
  show: (progress: Progress) => void;
  /** Leaves the last state standing. */
  end: () => void;
}>;

/** A bar that is drawn over itself on a terminal; elsewhere a line now and then. */
export function progressView(
  output: Output,
  now: () => number = () => performance.now(),
): ProgressView {
  let shownAt = Number.NEGATIVE_INFINITY;
  let last: Progress | undefined;
  const draw = (progress: Progress): void => {
    const text = describe(progress);
    output.write(output.isTTY ? `\r\x1b[K${bar(progress)} ${text}` : `${text}\n`);
    shownAt = now();
  };
  return {
    show(progress) {
      last = progress;
      if (now() - shownAt >= (output.isTTY ? redrawMs : lineMs)) draw(progress);
    },
    end() {
      if (last === undefined) return;
      draw(last);
      if (output.isTTY) output.write("\n");
    },
  };
}

function fractionOf({ position, head }: Progress): number {
  if (position < 0n) return 0;
  return head <= 0n ? 1 : Number((position * 1000n) / head) / 1000;
}

function bar(progress: Progress): string {
  const filled = Math.round(fractionOf(progress) * barCells);
  return `[${"#".repeat(filled)}${".".repeat(barCells - filled)}]`;
}

/** Position of the log's head, events a second, and how long it will take at this pace. */
function describe(progress: Progress): string {
  const { position, head, events, elapsedMs } = progress;
  const seconds = Math.max(elapsedMs / 1000, 0.001);
  const fraction = fractionOf(progress);
  const remaining = fraction === 0 ? undefined : (seconds * (1 - fraction)) / fraction;
  const eta = remaining === undefined ? "" : `, ${duration(remaining)} left`;
  const percent = `${(fraction * 100).toFixed(1)} %`;
  const reached = position < 0n ? "none" : position;
  return `${percent} (${reached} of ${head}), ${Math.round(events / seconds)} events/s${eta}`;
}

export function duration(seconds: number): string {
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
