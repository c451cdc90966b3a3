/**
 * The address of what a relative link of a file names. A path that begins with a slash starts at the root
 * of the repository; `..` never leaves it.
 *
 * @param directory of the file that holds the link, without a slash at the end
 * @param base address to which the encoded path is added; empty: there is none
 * @returns undefined when the link names no file
 */
export function resolveLink(link: string, directory: string, base: string): string | undefined {
  if (base === "" || link === "" || link.startsWith("?")) return undefined;
  const [, target = "", fragment = ""] = /^([^?#]*)(?:\?[^#]*)?(#.*)?$/s.exec(link) ?? [];
  const parts = target.startsWith("/") ? [] : directory.split("/").filter((part) => part !== "");
  for (const part of decoded(target).split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `${base}${encodeURIComponent(parts.join("/").toWellFormed())}${fragment}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
