/** How far git itself looks for a NUL before it calls a file text. */
const sniffBytes = 8_000;

/** As git decides it: a NUL near the beginning. */
export function isBinary(content: Buffer): boolean {
  return content.subarray(0, sniffBytes).includes(0);
}

const imageExtensions = /\.(?:png|jpe?g|gif|webp|bmp|ico|tiff?|avif|heic|jxl)$/i;
const imageSignatures = ["89504e470d0a1a0a", "ffd8ff", "474946383761", "474946383961", "424d"];

/** SVG is a text. */
export function hasImageName(name: string): boolean {
  return imageExtensions.test(name);
}

/** What follows the last dot, with it; `.null` when there is nothing, or nothing before it. */
export function extensionOf(fileName: string): string {
  return /[^.](\.[^.]+)$/s.exec(fileName)?.[1] ?? ".null";
}

/** By its first bytes or its name. */
export function isImage(name: string, content: Buffer): boolean {
  const begins = content.toString("hex", 0, 8);
  return (
    hasImageName(name) ||
    (isBinary(content) && imageSignatures.some((signature) => begins.startsWith(signature)))
  );
}

/** UTF-8 is said when it is; of other encodings nothing is known. */
export function textTypeOf(content: Buffer): string {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(content);
    return "text/plain; charset=utf-8";
  } catch {
    return "text/plain";
  }
}

/** Of downloads: the types that a browser does not execute. */
const contentTypes: Readonly<Record<string, string>> = {
  gif: "image/gif",
  gz: "application/gzip",
  jar: "application/java-archive",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  json: "application/json",
  md: "text/markdown",
  nupkg: "application/zip",
  pdf: "application/pdf",
  png: "image/png",
  tar: "application/x-tar",
  tgz: "application/gzip",
  txt: "text/plain",
  webp: "image/webp",
  whl: "application/zip",
  zip: "application/zip",
};

export function contentTypeOf(fileName: string): string {
  const extension = fileName.split(".").at(-1)?.toLowerCase() ?? "";
  const known = Object.hasOwn(contentTypes, extension) ? contentTypes[extension] : undefined;
  return known ?? "application/octet-stream";
}
