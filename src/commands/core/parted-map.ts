type Parts<Value> = ReadonlyMap<string, ReadonlyMap<string, Value>>;

/** Of the end of an id, which is random in a UUID: 256 parts. */
const partKeyLength = 2;

/**
 * An immutable map of UUIDs. A change copies the part that it touches and not all entries, so that what n events add up to
 * does not cost n × n.
 */
export class PartedMap<Value> {
  static readonly empty: PartedMap<never> = new PartedMap(new Map());
  readonly #parts: Parts<Value>;

  private constructor(parts: Parts<Value>) {
    this.#parts = parts;
  }

  get(id: string): Value | undefined {
    return this.#parts.get(id.slice(-partKeyLength))?.get(id);
  }

  with<Other>(id: string, value: Other): PartedMap<Value | Other> {
    return this.#changed(id, (part) => part.set(id, value));
  }

  without(id: string): PartedMap<Value> {
    return this.#changed(id, (part) => part.delete(id));
  }

  #changed<Other = never>(
    id: string,
    change: (part: Map<string, Value | Other>) => unknown,
  ): PartedMap<Value | Other> {
    const key = id.slice(-partKeyLength);
    const part = new Map<string, Value | Other>(this.#parts.get(key));
    change(part);
    return new PartedMap<Value | Other>(
      new Map<string, ReadonlyMap<string, Value | Other>>(this.#parts).set(key, part),
    );
  }
}
