type Sink = Readonly<{ write: (text: string) => unknown }>;

/** For a person at the terminal; what happens in the service goes to its log. */
export function write(sink: Sink, text: string): void {
  sink.write(text);
}

/** A title cannot send control sequences to the terminal of its reader. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u{${code.toString(16)}}`;
  });
}
