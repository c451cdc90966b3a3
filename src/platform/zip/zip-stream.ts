import type { Readable } from "node:stream";

export type ZipFileEntry = Readonly<{
  /** Relative path with slashes, without `..`. */
  path: string;
  bytes: number;
  modifiedAt: Date;
  /** Opens the content; it is called once, when the entry is written. */
  open: () => Promise<Readable>;
}>;

/**
 * A ZIP archive, made while it is read: one entry is open at a time. The content is stored as it is,
 * so the size of the archive is known before. An entry that cannot be read, or whose size differs,
 * ends the stream with an error: half an archive never passes for a whole one. Closing the stream
 * closes the open entry.
 */
export async function zipStream(
  entries: readonly ZipFileEntry[],
): Promise<Readonly<{ body: Readable; bytes: number }>> {
  // Loaded at the first use. A bundled package in CommonJS has no named exports.
  const { default: yazl } = await import("yazl");
  const archive = new yazl.ZipFile();
  // It is a PassThrough; the declared type is wider.
  const body = archive.outputStream as Readable;
  const fail = (error: Error): void => void body.destroy(error);
  archive.on("error", fail);
  let current: Readable | undefined;
  body.once("close", () => current?.destroy());
  for (const { path, bytes, modifiedAt, open } of entries) {
    const options = { size: bytes, mtime: modifiedAt, compress: false };
    archive.addReadStreamLazy(path, options, (give) => {
      open().then((content) => {
        current = content.once("error", fail);
        if (body.destroyed) content.destroy();
        else give(null, content);
      }, fail);
    });
  }
  const bytes = await new Promise<number>((resolve) => {
    const end = { forceZip64Format: false, comment: "" };
    archive.end(end, resolve as (size?: number) => void);
  });
  return { body, bytes };
}
