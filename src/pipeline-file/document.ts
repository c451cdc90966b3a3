import {
  Composer,
  isAlias,
  isMap as isMapNode,
  isScalar,
  isSeq,
  LineCounter,
  type ParsedNode,
  type Scalar,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";

import { yamlTokens } from "../platform/bounded-yaml.ts";
import { isStorableText } from "../platform/storable-text.ts";
import { failAt, markEntry } from "./mark.ts";
import {
  type FileText,
  isList,
  isMap,
  type Mark,
  newMap,
  Reference,
  type SourceFile,
  type TooLarge,
  type Yaml,
} from "./value.ts";

export const fileBytesMax = 512 * 1024;
const depthMax = 64;
const tooDeep = `Values are nested deeper than ${depthMax} levels.`;
/** What anchors may expand a file to, in values and in characters. */
const valuesMax = 200_000;
const charactersMax = 4 * 1024 * 1024;

export type ReadFile = Readonly<{ value: Yaml; mark: Mark; warnings: readonly string[] }>;

/**
 * Reads one YAML file as YAML 1.2 with merge keys (`<<`). Aliases share the value of their anchor,
 * so reading takes time and memory in proportion to the text; what they expand to is bounded.
 *
 * @param name as messages name the file
 * @throws PipelineFileError
 */
export function readDocument(text: FileText, name: string): ReadFile {
  const lines = new LineCounter();
  const mark = { file: { name, lines }, offset: 0 };
  if (typeof text !== "string") return failForSize(mark, text);
  if (Buffer.byteLength(text) > fileBytesMax) failForSize(mark, { bytesMax: fileBytesMax });
  const document = parsed(text, lines, mark);
  const nul = text.indexOf("\0");
  if (nul >= 0) failAt({ ...mark, offset: nul }, "", "The file contains a NUL character.");
  if (document === null) return { value: null, mark, warnings: [] };
  const reader = new Reader(mark.file);
  const value = reader.read(document, 0);
  reader.weight(value, document);
  return { value, mark, warnings: reader.warnings };
}

function failForSize(mark: Mark, { bytesMax }: TooLarge): never {
  return failAt(mark, "", `The file is larger than ${bytesMax} bytes.`);
}

function parsed(text: string, lineCounter: LineCounter, mark: Mark): ParsedNode | null {
  // Looking for equal keys is left to the reader: here it would take quadratic time.
  const composer = new Composer({ lineCounter, uniqueKeys: false, logLevel: "silent" });
  const tokens = yamlTokens(text, {
    depthMax,
    onNewLine: lineCounter.addNewLine,
    fail: (offset) => failAt({ ...mark, offset }, "", tooDeep),
  });
  const documents = [...composer.compose(tokens, true, text.length)];
  const [first, second] = documents;
  if (second !== undefined) {
    failAt(
      { ...mark, offset: second.range?.[0] ?? 0 },
      "",
      "The file holds more than one document.",
    );
  }
  const error = first?.errors[0];
  if (error !== undefined) failAt({ ...mark, offset: error.pos[0] }, "", `${error.message}.`);
  return (first?.contents as ParsedNode | null | undefined) ?? null;
}

type Weight = Readonly<{ values: number; characters: number }>;

class Reader {
  readonly warnings: string[] = [];
  readonly #file: SourceFile;
  readonly #anchors = new Map<string, Yaml>();
  readonly #weights = new WeakMap<object, Weight>();

  constructor(file: SourceFile) {
    this.#file = file;
  }

  read(node: ParsedNode | null, depth: number): Yaml {
    if (node === null) return null;
    if (depth > depthMax) {
      this.#fail(node, tooDeep);
    }
    if (isAlias(node)) {
      const value = this.#anchors.get(node.source);
      if (value === undefined) this.#fail(node, `The anchor ${node.source} is not defined here.`);
      return value ?? null;
    }
    const value = this.#content(node, depth);
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, value);
    return value;
  }

  /** Of the value with all aliases expanded; computed once for each map and list. */
  weight(value: Yaml, node: ParsedNode): Weight {
    if (typeof value === "string") return { values: 1, characters: value.length };
    if (!isMap(value) && !isList(value)) return { values: 1, characters: 1 };
    const known = this.#weights.get(value);
    if (known !== undefined) return known;
    let values = 1;
    let characters = 0;
    const entries = isList(value) ? value : Object.values(value);
    for (const entry of entries) {
      const weight = this.weight(entry, node);
      values += weight.values;
      characters += weight.characters;
    }
    if (values > valuesMax) {
      this.#fail(node, `The anchors expand to more than ${valuesMax} values.`);
    }
    if (characters > charactersMax) {
      this.#fail(node, `The anchors expand to more than ${charactersMax} characters.`);
    }
    const weight = { values, characters };
    this.#weights.set(value, weight);
    return weight;
  }

  #content(node: ParsedNode, depth: number): Yaml {
    if (isScalar(node)) return this.#scalar(node);
    if (isSeq(node)) {
      const items = this.#items(node, depth);
      if (node.tag !== "!reference") return items;
      const path = items.filter((item) => typeof item === "string");
      if (path.length === 0 || path.length !== items.length) {
        this.#fail(node, "!reference takes a list of keys.");
      }
      return new Reference(path);
    }
    if (isMapNode(node)) return this.#map(node as YAMLMap.Parsed, depth);
    return this.#fail(node, "This kind of value is not supported.");
  }

  #scalar(node: Scalar): Yaml {
    const { value } = node;
    if (typeof value === "string") return this.#storable(node as ParsedNode, value);
    if (typeof value === "boolean" || value === null) return value;
    if (typeof value === "number") return value;
    return String(node.source ?? value);
  }

  /** Escapes can write what no store takes. */
  #storable(node: ParsedNode, text: string): string {
    if (isStorableText(text)) return text;
    return this.#fail(node, "The text contains a NUL character or half of a surrogate pair.");
  }

  #items(node: YAMLSeq, depth: number): readonly Yaml[] {
    const items: Yaml[] = [];
    for (const [index, item] of node.items.entries()) {
      markEntry(items, String(index), this.#mark(item as ParsedNode));
      items.push(this.read(item as ParsedNode, depth + 1));
    }
    return items;
  }

  #map(node: YAMLMap.Parsed, depth: number): Yaml {
    const map = newMap();
    const merged: Yaml[] = [];
    for (const { key, value } of node.items) {
      if (!isScalar(key) || key.value === null || typeof key.value === "object") {
        this.#fail(node, "A key must be text.");
      }
      const name = this.#storable(key as ParsedNode, String((key as Scalar).value));
      const read = this.read(value as ParsedNode | null, depth + 1);
      if (name === "<<" && (key as Scalar).type === "PLAIN") {
        merged.push(...(isList(read) ? read : [read]));
        continue;
      }
      const mark = this.#mark(key as ParsedNode);
      if (name in map) {
        const { line } = this.#file.lines.linePos(mark.offset);
        this.warnings.push(`${this.#file.name}:${line}: ${name}: The key occurs twice.`);
      }
      map[name] = read;
      markEntry(map, name, mark);
    }
    // Keys of the map itself win, and then those of the first merged map that has them.
    for (const source of merged) {
      if (!isMap(source)) this.#fail(node, "A merge key (<<) takes maps.");
      for (const [name, value] of Object.entries(source as object)) {
        if (name in map) continue;
        map[name] = value as Yaml;
        markEntry(map, name, this.#mark(node));
      }
    }
    this.weight(map, node);
    return map;
  }

  #mark(node: ParsedNode | null): Mark {
    return { file: this.#file, offset: node?.range?.[0] ?? 0 };
  }

  #fail(node: ParsedNode, message: string): never {
    return failAt(this.#mark(node), "", message);
  }
}
