import {
  type MavenPlugin,
  PluginMetadata,
  pluginsListedIn,
} from "../../../platform/package/maven/plugin.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { describedInGroup } from "../../../projections/package/described.ts";
import type { Deps } from "../../core/deps.ts";
import { HttpRefusal } from "../../core/errors.ts";
import { keptDocument, stateOfRepository } from "../document.ts";
import { upstreamDocument } from "../proxy/document.ts";
import { proxyOf } from "../proxy/upstream.ts";
import { proxySources } from "../source.ts";
import type { NativeRequest } from "../type.ts";
import { documentAt } from "./maven-proxy.ts";

type Asked = Pick<NativeRequest, "repository" | "ctx">;

/**
 * Plugins of a group that a repository shows. A virtual repository that has some in local members adds those of its
 * proxies: a plugin that is stored under the group of Maven's own must not hide all others.
 */
export async function pluginsOf(
  groupId: string,
  { repository, ctx }: Asked,
  deps: Deps,
): Promise<readonly MavenPlugin[]> {
  const state = await stateOfRepository(repository, deps);
  const ids = state.sources.map(({ id }) => id);
  const make = async (): Promise<readonly MavenPlugin[]> =>
    (await describedInGroup(deps.db, ids, groupId)).flatMap(({ artifact_id, metadata }) => {
      const { data } = PluginMetadata.safeParse(JSON.parse(metadata));
      return data === undefined ? [] : [{ prefix: data.goalPrefix, artifactId: artifact_id }];
    });
  const sizeOf = (plugins: readonly MavenPlugin[]) => plugins.length * entryBytes;
  const local = await keptDocument(`maven:${groupId}:${state.key}`, make, sizeOf);
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

const entryBytes = 200;

/** A proxy that lacks the list, or fails, leaves those of the others. */
function notThere(error: unknown): undefined {
  if (error instanceof Refusal || error instanceof HttpRefusal) return undefined;
  throw error;
}
