import { isNullObjectId } from "../name.ts";
import type { ChangeRecord } from "./change-record.ts";

/** The lines git prints above the hunks of a file, for when it does not print a patch. */
export function headersOf(record: ChangeRecord): readonly string[] {
  const { status, similarity, oldMode, newMode, oldId, newId, oldPath, newPath } = record;
  const isAdded = isNullObjectId(oldId);
  const isRemoved = isNullObjectId(newId);
  const verb = { R: "rename", C: "copy" }[status as string];
  const modes = isAdded
    ? [`new file mode ${newMode}`]
    : isRemoved
      ? [`deleted file mode ${oldMode}`]
      : oldMode === newMode
        ? []
        : [`old mode ${oldMode}`, `new mode ${newMode}`];
  const moved =
    verb === undefined
      ? []
      : [
          `similarity index ${similarity}%`,
          `${verb} from ${quoted("", oldPath)}`,
          `${verb} to ${quoted("", newPath)}`,
        ];
  const mode = modes.length === 0 ? ` ${newMode}` : "";
  const index = oldId === newId ? [] : [`index ${oldId}..${newId}${mode}`];
  return [
    `diff --git ${quoted("a/", oldPath)} ${quoted("b/", newPath)}`,
    ...modes,
    ...moved,
    ...index,
  ];
}

const letters: Readonly<Record<string, string>> = {
  "\u0007": "\\a",
  "\b": "\\b",
  "\t": "\\t",
  "\n": "\\n",
  "\v": "\\v",
  "\f": "\\f",
  "\r": "\\r",
  '"': '\\"',
  "\\": "\\\\",
};

/** As git does it with core.quotePath off: only names with quotes or control characters. */
function quoted(prefix: string, path: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is quoted.
  const escaped = path.replaceAll(/[\x00-\x1f\x7f"\\]/g, (character) => {
    const octal = character.charCodeAt(0).toString(8).padStart(3, "0");
    return letters[character] ?? `\\${octal}`;
  });
  return escaped === path ? prefix + path : `"${prefix}${escaped}"`;
}
