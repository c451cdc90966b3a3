import { Refusal } from "../refusal.ts";

/** Of a publication without its tarball. */
const documentBytesMax = 64 * 1024 ** 2;
/** Of what is kept of it. */
const keptBytesMax = 1024 ** 2;
const versionsBytesMax = 32 * 1024 ** 2;
/** Of a version beside its name. */
const versionBytes = 100;
const keyBytesMax = 1_000;
const depthMax = 1_000;

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];

/** What a string is: a key, the data of the tarball, a deprecation, or kept with the rest, or none of these. */
type StringKind = "key" | "tarball" | "deprecated" | "kept" | "dropped";

/**
 * Reads what npm sends, byte by byte: the data of the tarball, the versions with their deprecations and the
 * tags. All else is dropped, so a document of many megabytes takes little memory.
 */
export class NpmScanner {
  /** The document with its tags; everything else in it is empty. */
  readonly #kept: number[] = [];
  readonly #versions = new Map<string, string | undefined>();
  #versionsBytes = 0;
  #bytes = 0;
  /** Keys of the objects that are open, from the outermost; a list has none. */
  readonly #keys: (string | undefined)[] = [];
  /** Of a key or a deprecation that is being read, as it is escaped. */
  #text: number[] = [];
  #string: StringKind | undefined;
  #isEscaped = false;
  #isKeyNext = false;
  #hasTarball = false;

  /**
   * @returns what came of the tarball, in base64
   * @throws Refusal 400, 413
   */
  take(chunk: Buffer): string {
    let data = "";
    let tarballBytes = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      if (this.#string !== "tarball") {
        this.#take(chunk.readUInt8(at));
        continue;
      }
      const end = chunk.indexOf(quote, at);
      const until = end < 0 ? chunk.length : end;
      // Some encoders write a slash as `\/`, which may be parted between two chunks.
      data += chunk.toString("latin1", at, until).replaceAll("\\", "");
      tarballBytes += until - at;
      at = until;
      if (end >= 0) this.#end("tarball");
    }
    this.#bytes += chunk.length - tarballBytes;
    if (this.#bytes > documentBytesMax) throw tooLarge(documentBytesMax);
    return data;
  }

  /** @throws Refusal 400 */
  document(): unknown {
    const document = parsed(Buffer.from(this.#kept)) as Readonly<Record<string, unknown>> | null;
    const versions = document?.["versions"];
    const hasVersions =
      typeof versions === "object" && versions !== null && !Array.isArray(versions);
    if (!hasVersions) return document;
    const all = [...this.#versions].map(([version, deprecated]) => [
      version,
      deprecated === undefined ? {} : { deprecated },
    ]);
    return { ...document, versions: Object.fromEntries(all) };
  }

  #take(byte: number): void {
    const kind = this.#string;
    if (kind === undefined) {
      if (byte === quote) this.#begin();
      else this.#structure(byte);
      return;
    }
    if (kind === "kept" || (kind === "key" && this.#isKept())) this.#keep(byte);
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === backslash) this.#isEscaped = true;
    else if (byte === quote) {
      this.#end(kind);
      return;
    }
    if (kind === "key" && this.#text.length < keyBytesMax) this.#text.push(byte);
    if (kind === "deprecated") this.#text.push(byte);
    if (this.#text.length > keptBytesMax) throw tooLarge(keptBytesMax);
  }

  #begin(): void {
    this.#string = this.#kindHere();
    this.#text = [];
    if (this.#isKept()) this.#keep(quote);
  }

  #kindHere(): StringKind {
    if (this.#isKeyNext) return "key";
    const [outer, name, field] = this.#keys;
    if (this.#keys.length === 3 && outer === "_attachments" && field === "data") {
      return !this.#hasTarball && /\.tgz$/.test(name ?? "") ? "tarball" : "dropped";
    }
    if (this.#keys.length === 3 && outer === "versions" && field === "deprecated") {
      return "deprecated";
    }
    return outer === "dist-tags" ? "kept" : "dropped";
  }

  /** Whether what stands here is kept, strings that are dropped aside, of which the quotes are. */
  #isKept(): boolean {
    return this.#keys.length <= 1 || this.#keys[0] === "dist-tags";
  }

  #end(kind: StringKind): void {
    this.#string = undefined;
    if (kind === "tarball") this.#hasTarball = true;
    if (kind === "dropped" && this.#isKept()) this.#keep(quote);
    if (kind === "key") this.#endKey();
    if (kind === "deprecated") this.#putVersion(this.#keys[1], unescaped(this.#text));
  }

  #endKey(): void {
    const isLong = this.#text.length >= keyBytesMax;
    this.#keys[this.#keys.length - 1] = isLong ? "" : unescaped(this.#text);
    this.#isKeyNext = false;
    const [outer, version] = this.#keys;
    if (this.#keys.length === 2 && outer === "versions") this.#putVersion(version, undefined);
  }

  #putVersion(version: string | undefined, deprecated: string | undefined): void {
    if (version === undefined) return;
    this.#versionsBytes += versionBytes + version.length + (deprecated?.length ?? 0);
    if (this.#versionsBytes > versionsBytesMax) throw tooLarge(versionsBytesMax);
    this.#versions.set(version, deprecated);
  }

  #structure(byte: number): void {
    if (byte === openObject || byte === openList) {
      if (this.#isKept()) this.#keep(byte);
      if (this.#keys.length >= depthMax) throw notJson("it nests too deep");
      this.#keys.push(undefined);
      this.#isKeyNext = byte === openObject;
      return;
    }
    if (byte === closeObject || byte === closeList) {
      this.#keys.pop();
      this.#isKeyNext = false;
    } else if (byte === comma) this.#isKeyNext = this.#keys.at(-1) !== undefined;
    if (this.#isKept()) this.#keep(byte);
  }

  #keep(byte: number): void {
    this.#kept.push(byte);
    if (this.#kept.length > keptBytesMax) throw tooLarge(keptBytesMax);
  }
}

/** @throws Refusal 400 */
function unescaped(bytes: readonly number[]): string {
  return String(parsed(Buffer.from([quote, ...bytes, quote])));
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    throw notJson("it does not parse");
  }
}

function tooLarge(bytesMax: number): Refusal {
  const message = `What it says beside the tarball is over ${bytesMax} bytes.`;
  return new Refusal("too_large", "body.too_large", message);
}

export function notJson(why: string): Refusal {
  return new Refusal("bad_request", "body.not_json", `The body must be what npm sends; ${why}.`);
}
