import { buffer } from "node:stream/consumers";
import {
  goalPrefixIn,
  type MavenPlugin,
  PluginMetadata,
  pluginsListedIn,
} from "../../../../package/maven/plugin.ts";
import { BlobMissing } from "../../../../platform/blob/store.ts";
import { BoundedCache } from "../../../../platform/bounded-cache.ts";
import { Limit } from "../../../../platform/limit.ts";
import { Refusal } from "../../../../platform/refusal.ts";
import { describedInGroup, undescribedPlugins } from "../../../../projections/package/described.ts";
import type { Deps } from "../../../core/deps.ts";
import { HttpRefusal } from "../../../core/errors.ts";
import { cachedDocument, stateOfRepository } from "../core/document.ts";
import { proxySources } from "../core/source.ts";
import type { NativeRequest } from "../core/type.ts";
import { upstreamDocument } from "../proxy/document.ts";
import { proxyOf } from "../proxy/upstream.ts";
import { documentAt } from "./proxy.ts";

type PluginRequest = Pick<NativeRequest, "repository" | "ctx">;

/**
 * Plugins of a group that a repository shows. A virtual repository that has some in local members adds those of its
 * proxies: a plugin that is stored under the group of Maven's own must not hide all others.
 */
export async function pluginsOf(
  groupId: string,
  { repository, ctx }: PluginRequest,
  deps: Deps,
): Promise<readonly MavenPlugin[]> {
  const state = await stateOfRepository(repository, deps);
  const ids = state.sources.map(({ id }) => id);
  const make = async (): Promise<readonly MavenPlugin[]> => {
    const described = await describedInGroup(deps.db, ids, groupId);
    const known = described.flatMap(({ artifact_id, metadata }) => {
      const { data } = PluginMetadata.safeParse(JSON.parse(metadata));
      return data === undefined ? [] : [{ prefix: data.goalPrefix, artifactId: artifact_id }];
    });
    return [...known, ...(await formerPlugins(deps, ids, groupId))];
  };
  const sizeOf = (plugins: readonly MavenPlugin[]) => plugins.length * entryBytes;
  const local = await cachedDocument(`maven:${groupId}:${state.key}`, make, sizeOf);
  if (local.length === 0) return [];
  const found = new Map<string, MavenPlugin>();
  const add = (plugin: MavenPlugin): void => {
    if (!found.has(plugin.prefix)) found.set(plugin.prefix, plugin);
  };
  local.forEach(add);
  for (const source of await proxySources(repository, deps)) {
    const proxy = proxyOf(source);
    const path = `${groupId.replaceAll(".", "/")}/maven-metadata.xml`;
    const document = await upstreamDocument({ proxy, ctx }, documentAt(proxy, path), deps).catch(
      notThere,
    );
    if (document !== undefined) pluginsListedIn(document.bytes.toString("utf8")).forEach(add);
  }
  return [...found.values()];
}

/** Larger jars, and plugins beyond these, are listed after their next deployment. */
const former = { bytesMax: 8 * 1024 ** 2, limit: 100 } as const;
const reading = new Limit({ name: "registry.former_plugins", total: 1, whenFull: "wait" });
const prefixes = new BoundedCache<Readonly<{ prefix: string | undefined }>>(2 * 1024 ** 2);

/** Plugins that were stored before their prefix was kept: it is read at the first request for the group. */
async function formerPlugins(
  { db, blobs }: Deps,
  registryIds: readonly string[],
  groupId: string,
): Promise<readonly MavenPlugin[]> {
  const found: MavenPlugin[] = [];
  for (const { artifact_id, sha256 } of await undescribedPlugins(
    db,
    registryIds,
    groupId,
    former,
  )) {
    const known = prefixes.get(sha256) ?? (await reading.run(() => prefixOf(sha256, blobs)));
    prefixes.set(sha256, known, entryBytes);
    if (known.prefix !== undefined) found.push({ prefix: known.prefix, artifactId: artifact_id });
  }
  return found;
}

async function prefixOf(sha256: string, blobs: Deps["blobs"]) {
  try {
    return { prefix: await goalPrefixIn(await buffer(await blobs.read(sha256))) };
  } catch (error) {
    // It went meanwhile.
    if (error instanceof BlobMissing) return { prefix: undefined };
    throw error;
  }
}

const entryBytes = 200;

/** A proxy that lacks the list, or fails, leaves those of the others. */
function notThere(error: unknown): undefined {
  if (error instanceof Refusal || error instanceof HttpRefusal) return undefined;
  throw error;
}
