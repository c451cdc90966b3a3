type Sink = Readonly<{ write: (text: string) => unknown }>;

/** For a person at the terminal; what happens in the service goes to its log. */
export function write(sink: Sink, text: string): void {
  sink.write(text);
}

/** Whoever chose a title must not command the terminal of whoever reads it. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u{${code.toString(16)}}`;
  });
}
