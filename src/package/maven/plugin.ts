import type { Readable } from "node:stream";
import { z } from "zod";

import { isAboutTheArchive } from "../core/zip-walk.ts";

/** A plugin of a group by the prefix that its goals are called with: `mvn prefix:goal`. */
export type MavenPlugin = Readonly<{ prefix: string; artifactId: string }>;

/** What is kept of the jar of a plugin. */
export const PluginMetadata = z.object({ goalPrefix: z.string() });

const descriptor = "META-INF/maven/plugin.xml";
const entriesMax = 100_000;
/** The prefix stands in front of the goals. */
const searchedBytesMax = 64 * 1024;
const listedMax = 10_000;
const prefixForm = /<goalPrefix>\s*([A-Za-z0-9_.-]{1,100})\s*<\/goalPrefix>/;
const nameForm = /^[A-Za-z0-9_.-]{1,255}$/;

/** Of a jar, or the file of one, that is a plugin; undefined for any other, and for what is no jar. */
export async function goalPrefixIn(jar: string | Buffer): Promise<string | undefined> {
  // Loaded at the first upload of a jar.
  const { default: yauzl } = await import("yauzl");
  const options = { autoClose: false, lazyEntries: true };
  try {
    const archive = await (typeof jar === "string"
      ? yauzl.openPromise(jar, options)
      : yauzl.fromBufferPromise(jar, options));
    try {
      if (archive.entryCount > entriesMax) return undefined;
      for await (const entry of archive.eachEntry()) {
        if (entry.fileName !== descriptor) continue;
        const begin = await beginOf(await archive.openReadStreamPromise(entry));
        return prefixForm.exec(begin.split("<mojos", 1)[0] ?? "")?.[1];
      }
      return undefined;
    } finally {
      archive.close();
    }
  } catch (error) {
    if (isAboutTheArchive(error)) return undefined;
    throw error;
  }
}

async function beginOf(content: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of content) {
    chunks.push(chunk as Buffer);
    bytes += (chunk as Buffer).length;
    if (bytes >= searchedBytesMax) break;
  }
  return Buffer.concat(chunks).toString("utf8", 0, searchedBytesMax);
}

/** The plugins that the metadata of a group lists. */
export function pluginsListedIn(metadata: string): readonly MavenPlugin[] {
  const blocks = metadata.split("<plugin>").slice(1, 1 + listedMax);
  return blocks.flatMap((block) => {
    const prefix = textOf(block, "prefix");
    const artifactId = textOf(block, "artifactId");
    return nameForm.test(prefix) && nameForm.test(artifactId) ? [{ prefix, artifactId }] : [];
  });
}

function textOf(block: string, tag: string): string {
  const [, after = ""] = block.split(`<${tag}>`, 2);
  const [text = ""] = after.split("<", 1);
  return text.trim();
}

/** What the metadata of a group says of its plugins; empty when there are none. */
export function pluginTags(plugins: readonly MavenPlugin[]): string {
  if (plugins.length === 0) return "";
  const tags = plugins.map(
    ({ prefix, artifactId }) =>
      `<plugin><name>${artifactId}</name><prefix>${prefix}</prefix><artifactId>${artifactId}</artifactId></plugin>`,
  );
  return `<plugins>${tags.join("")}</plugins>`;
}
