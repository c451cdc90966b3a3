import {
  type FileProblem,
  isList,
  isMap,
  type Mark,
  PipelineFileError,
  type Yaml,
} from "./value.ts";

/**
 * Where the entries of maps and lists were written. It is kept beside the values, so that values
 * can be merged and shared without copies.
 */
const entryMarks = new WeakMap<object, Map<string, Mark>>();

export function markEntry(container: object, key: string, mark: Mark): void {
  const marks = entryMarks.get(container) ?? new Map<string, Mark>();
  marks.set(key, mark);
  entryMarks.set(container, marks);
}

export function entryMark(container: object, key: string): Mark | undefined {
  return entryMarks.get(container)?.get(key);
}

/** The mark of the deepest part of the path that has one; that of the root otherwise. */
export function markAt(root: Yaml, path: readonly PropertyKey[], rootMark: Mark): Mark {
  let mark = rootMark;
  let value: Yaml | undefined = root;
  for (const part of path) {
    const key = String(part);
    if (!isMap(value) && !isList(value)) break;
    mark = entryMark(value, key) ?? mark;
    value = isMap(value) ? value[key] : value[Number(key)];
  }
  return mark;
}

/** A path without the numbers of list entries where the file has one value in the place of a list. */
export function writtenPath(root: Yaml, path: readonly PropertyKey[]): readonly PropertyKey[] {
  let value: Yaml | undefined = root;
  return path.filter((part) => {
    if (typeof part === "number" && value !== undefined && !isList(value)) return false;
    if (isMap(value)) value = value[String(part)];
    else value = isList(value) ? value[Number(part)] : undefined;
    return true;
  });
}

export function problemAt({ file, offset }: Mark, key: string, message: string): FileProblem {
  const { line, col } = file.lines.linePos(offset);
  return { file: file.name, line: Math.max(1, line), column: Math.max(1, col), key, message };
}

export function failAt(mark: Mark, key: string, message: string): never {
  throw new PipelineFileError([problemAt(mark, key, message)]);
}
