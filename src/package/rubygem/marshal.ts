/**
 * Values as Ruby's Marshal writes them (format 4.8): what clients of RubyGems load. Nothing is ever read in
 * this format. See ruby-doc.org, doc/marshal.rdoc.
 */
export type RubyValue =
  | null
  | boolean
  | number
  | string
  | readonly RubyValue[]
  | Readonly<{ symbol: string }>
  | Readonly<{ hash: readonly (readonly [RubyValue, RubyValue])[] }>
  /** An object with its instance variables. */
  | Readonly<{ object: string; variables: Readonly<Record<string, RubyValue>> }>
  /** One that dumps itself as a value. */
  | Readonly<{ custom: string; value: RubyValue }>
  /** One that dumps itself as bytes. */
  | Readonly<{ dumped: string; bytes: Buffer }>;

export function rubyMarshal(value: RubyValue): Buffer {
  const symbols = new Map<string, number>();
  const parts: Buffer[] = [Buffer.from([4, 8])];
  const add = (...bytes: readonly (Buffer | string)[]): void => {
    for (const each of bytes) parts.push(Buffer.from(each));
  };
  const symbol = (name: string): void => {
    const known = symbols.get(name);
    if (known !== undefined) return void add(";", integer(known));
    symbols.set(name, symbols.size);
    const bytes = Buffer.from(name);
    add(":", integer(bytes.length), bytes);
  };
  const text = (one: string): void => {
    const bytes = Buffer.from(one);
    add('I"', integer(bytes.length), bytes, integer(1));
    symbol("E");
    add("T");
  };
  const write = (one: RubyValue): void => {
    if (one === null) return void add("0");
    if (typeof one === "boolean") return void add(one ? "T" : "F");
    if (typeof one === "number") return void add("i", integer(one));
    if (typeof one === "string") return void text(one);
    if (Array.isArray(one)) {
      add("[", integer(one.length));
      for (const each of one) write(each);
      return;
    }
    writeObject(one as Exclude<typeof one, readonly RubyValue[]>);
  };
  const writeObject = (one: Exclude<RubyValue, Primitive>): void => {
    if ("symbol" in one) return void symbol(one.symbol);
    if ("hash" in one) {
      add("{", integer(one.hash.length));
      for (const each of one.hash.flat()) write(each);
      return;
    }
    if ("custom" in one) {
      add("U");
      symbol(one.custom);
      return void write(one.value);
    }
    if ("dumped" in one) {
      add("u");
      symbol(one.dumped);
      return void add(integer(one.bytes.length), one.bytes);
    }
    add("o");
    symbol(one.object);
    const variables = Object.entries(one.variables);
    add(integer(variables.length));
    for (const [name, each] of variables) {
      symbol(name);
      write(each);
    }
  };
  write(value);
  return Buffer.concat(parts);
}

type Primitive = null | boolean | number | string | readonly RubyValue[];

/** Small ones take a byte, others their length and bytes, the lowest first. Not negative. */
function integer(value: number): Buffer {
  if (value === 0) return Buffer.from([0]);
  if (value < 123) return Buffer.from([value + 5]);
  const bytes: number[] = [];
  for (let rest = value; rest > 0; rest = Math.floor(rest / 256)) bytes.push(rest % 256);
  return Buffer.from([bytes.length, ...bytes]);
}
