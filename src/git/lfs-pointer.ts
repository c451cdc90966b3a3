/** A pointer is smaller than this; git-lfs specification, "The Pointer". */
export const pointerBytesMax = 1024;
/** Version line, object id line and a size of one digit. */
export const pointerBytesMin = 120;

export type LfsPointer = Readonly<{
  oid: string;
  /** Of the object, not of the pointer. */
  bytes: number;
}>;

/** What a pointer file names, or undefined when the file is no pointer. */
export function lfsPointer(content: Buffer): LfsPointer | undefined {
  if (content.length >= pointerBytesMax) return undefined;
  const text = content.toString("utf8");
  if (!text.startsWith("version https://git-lfs.github.com/spec/v1\n")) return undefined;
  const oid = /^oid sha256:([0-9a-f]{64})$/m.exec(text)?.[1];
  const bytes = /^size (\d{1,15})$/m.exec(text)?.[1];
  return oid === undefined || bytes === undefined ? undefined : { oid, bytes: Number(bytes) };
}
