import { z } from "zod";

import { escaped, pageAround } from "./simple-page.ts";

const Hashes = z.record(z.string(), z.string());
const File = z.object({
  // Half a surrogate pair cannot stand in an address.
  filename: z
    .string()
    .regex(/^[^/\\]+$/)
    .refine((name) => name.isWellFormed()),
  url: z.string(),
  hashes: Hashes.default({}),
  "requires-python": z.string().nullish(),
  "core-metadata": z.union([z.boolean(), Hashes]).optional(),
  "dist-info-metadata": z.union([z.boolean(), Hashes]).optional(),
  yanked: z.union([z.boolean(), z.string()]).optional(),
  size: z.int().optional(),
  "upload-time": z.string().optional(),
});
type File = z.output<typeof File>;

/** The projects with the most files have some 30,000. */
const filesMax = 50_000;

/** A query on the list of a project's files that another registry made: PEP 503 or PEP 691. */
export type SimpleIndexQuestion = Readonly<{
  bytes: Uint8Array;
  isJson: boolean;
  /** Where it is from: its links may be relative. */
  url: string;
  want:
    | Readonly<{ kind: "list"; form: "html" | "json"; name: string; base: string }>
    | Readonly<{ kind: "file"; file: string }>;
}>;

export type SimpleIndexAnswer =
  /** With the files below `base`. */
  | Readonly<{ kind: "list"; bytes: Uint8Array }>
  | Readonly<{ kind: "file"; url: string; hashes: Readonly<Record<string, string>> }>
  | Readonly<{ kind: "missing" }>
  /** It is no list of files. */
  | Readonly<{ kind: "malformed" }>;

/** Takes as long as the list is large: 16 MiB take most of a second. */
export function parseSimpleIndex({
  bytes,
  isJson,
  url,
  want,
}: SimpleIndexQuestion): SimpleIndexAnswer {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
  const found = isJson ? jsonFiles(text) : anchors(text);
  if (found === undefined) return { kind: "malformed" };
  const files = found.flatMap((file) =>
    URL.canParse(file.url, url) ? [{ ...file, url: new URL(file.url, url).href }] : [],
  );
  return want.kind === "list" ? listOf(files, want) : fileOf(files, want.file);
}

type ListWanted = Extract<SimpleIndexQuestion["want"], { kind: "list" }>;

function listOf(given: readonly File[], { form, name, base }: ListWanted): SimpleIndexAnswer {
  const files = given.map((file) => ({
    ...file,
    url: `${base}/files/${name}/-/${encodeURIComponent(file.filename)}`,
    "core-metadata": metadataHash(file) ?? false,
    "dist-info-metadata": undefined,
    yanked: file.yanked ?? false,
  }));
  if (form === "json") {
    const document = { meta: { "api-version": "1.0" }, name, files };
    return { kind: "list", bytes: Buffer.from(JSON.stringify(document)) };
  }
  const [head, tail] = pageAround(name);
  return { kind: "list", bytes: Buffer.from(head + files.map(anchorOf).join("\n") + tail) };
}

function fileOf(files: readonly File[], requested: string): SimpleIndexAnswer {
  const whole = files.find(({ filename }) => filename === requested);
  if (whole !== undefined) return { kind: "file", url: whole.url, hashes: whole.hashes };
  const found = files.find(({ filename }) => `${filename}.metadata` === requested);
  const hashes = found && metadataHash(found);
  if (found === undefined || hashes === undefined) return { kind: "missing" };
  return { kind: "file", url: `${found.url}.metadata`, hashes };
}

const List = z.object({ files: z.array(z.unknown()).max(filesMax) });

function jsonFiles(text: string): readonly File[] | undefined {
  try {
    const { files } = List.parse(JSON.parse(text));
    return files.flatMap((file) => File.safeParse(file).data ?? []);
  } catch {
    return undefined;
  }
}

const lengthMax = 16_384;

const attributeForms = Object.fromEntries(
  [
    "href",
    "data-requires-python",
    "data-core-metadata",
    "data-dist-info-metadata",
    "data-yanked",
  ].map((name) => [name, new RegExp(`(?:^|\\s)${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`, "i")]),
);

/** The links of a page: attributes in double or single quotes, as all indexes write them. */
function anchors(html: string): readonly File[] | undefined {
  const links = html.split(/<a\s/i, filesMax + 2).slice(1);
  if (links.length > filesMax) return undefined;
  return links.flatMap((link) => {
    const part = link.slice(0, lengthMax);
    const [tag = "", text = ""] = part.split(">", 2);
    const attribute = (name: string) => {
      const match = attributeForms[name]?.exec(tag) ?? undefined;
      return match && unescaped(match[1] ?? match[2] ?? "");
    };
    const [url = "", fragment = ""] = (attribute("href") ?? "").split("#", 2);
    const file = File.safeParse({
      filename: unescaped(text.split("<", 1)[0]?.trim() ?? ""),
      url,
      hashes: pairsOf(fragment),
      "requires-python": attribute("data-requires-python"),
      "core-metadata": metadataOf(
        attribute("data-core-metadata") ?? attribute("data-dist-info-metadata"),
      ),
      yanked: attribute("data-yanked") === undefined ? false : attribute("data-yanked") || true,
    });
    return file.data ?? [];
  });
}

function metadataOf(text: string | undefined) {
  if (text === undefined) return undefined;
  return text.includes("=") ? pairsOf(text) : text === "true";
}

function pairsOf(text: string): Record<string, string> {
  const [algorithm = "", hex = ""] = text.split("=", 2);
  return hex === "" ? {} : { [algorithm]: hex };
}

const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', amp: "&" };

function unescaped(text: string): string {
  return text.replaceAll(
    /&(?:#(\d{1,6})|#x([0-9a-f]{1,6})|(lt|gt|quot|amp));/gi,
    (whole, ...of) => {
      const [decimal, hex, name] = of as [string?, string?, string?];
      if (name !== undefined) return entities[name.toLowerCase()] ?? whole;
      const code = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal);
      return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
    },
  );
}

const metadataHash = (file: File) => {
  const metadata = file["core-metadata"] ?? file["dist-info-metadata"];
  return typeof metadata === "object" ? metadata : undefined;
};

function anchorOf(file: File): string {
  const [algorithm, hex] = Object.entries(file.hashes)[0] ?? [];
  const [metadata] = Object.entries(metadataHash(file) ?? {}).map((pair) => pair.join("="));
  const isYanked = file.yanked !== undefined && file.yanked !== false;
  const attributes = [
    ["href", algorithm === undefined ? file.url : `${file.url}#${algorithm}=${hex}`],
    ["data-requires-python", file["requires-python"]],
    ["data-core-metadata", metadata],
    ["data-dist-info-metadata", metadata],
    ["data-yanked", isYanked ? (file.yanked === true ? "" : String(file.yanked)) : undefined],
  ] as const;
  const shown = attributes.flatMap(([name, value]) =>
    value === undefined || value === null ? [] : [`${name}="${escaped(value)}"`],
  );
  return `<a ${shown.join(" ")}>${escaped(file.filename)}</a><br>`;
}
