/** What gitlab-runner writes in front of a line: its time, a stream, and `+` where it continues the last of the stream. */
const head = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,9}Z) ([0-9a-f]{2}[EO])([ +])/;

export type LogLine = Readonly<{
  /** As the runner wrote it; undefined where it writes none. */
  time: string | undefined;
  stream: string;
  continues: boolean;
  text: string;
}>;

/** @param line without its newline */
export function logLine(line: string): LogLine {
  const found = head.exec(line);
  if (found === null) return { time: undefined, stream: "", continues: false, text: line };
  const [all, time, stream = "", sign] = found;
  return { time, stream, continues: sign === "+", text: line.slice(all.length) };
}

export type WholeLine = LogLine & Readonly<{ number: number }>;

/** Lines with those that continue them; a line has the number, from 1, of its first part. */
export function wholeLines(lines: readonly string[]): readonly WholeLine[] {
  const whole: { line: LogLine; number: number; texts: string[] }[] = [];
  const lastOf = new Map<string, string[]>();
  for (const [index, each] of lines.entries()) {
    const line = logLine(each);
    const texts = line.continues ? lastOf.get(line.stream) : undefined;
    if (texts !== undefined) {
      texts.push(line.text);
      continue;
    }
    const begun = { line, number: index + 1, texts: [line.text] };
    lastOf.set(line.stream, begun.texts);
    whole.push(begun);
  }
  return whole.map(({ line, number, texts }) => ({ ...line, number, text: texts.join("") }));
}
