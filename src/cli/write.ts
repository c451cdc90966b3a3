type Sink = Readonly<{ write: (text: string) => unknown }>;

/** For a person at the terminal; what happens in the service goes to its log. */
export function write(sink: Sink, text: string): void {
  sink.write(text);
}
