import { startRegistryApp } from "../client/registry.ts";

type Manifest = Readonly<Record<string, unknown>> &
  Readonly<{ dist: Readonly<{ tarball: string; shasum: string }> }>;
export type Packument = Readonly<{ versions: Readonly<Record<string, Manifest>> }> &
  Readonly<Record<string, unknown>>;

/** A body as npm sends it. */
export function publication(name: string, version: string, tarball: Buffer, tag = "latest") {
  const file = `${name}-${version}.tgz`;
  return JSON.stringify({
    _id: name,
    name,
    "dist-tags": { [tag]: version },
    versions: { [version]: { name, version } },
    access: null,
    _attachments: {
      [file]: {
        content_type: "application/octet-stream",
        data: tarball.toString("base64"),
        length: tarball.length,
      },
    },
  });
}

/** An app with a project of anna, and requests of npm to the repositories in it. */
export async function npmRegistry() {
  const registry = await startRegistryApp();
  const { baseOf, headers } = registry;
  return {
    ...registry,
    send: (repository: string, rest: string, more: Record<string, string> = {}) =>
      fetch(`${baseOf(repository)}/${rest}`, { headers: { ...headers, ...more } }),
    publish: (repository: string, name: string, body: string) =>
      fetch(`${baseOf(repository)}/${name.replace("/", "%2f")}`, {
        method: "PUT",
        headers: { ...headers, "content-type": "application/json" },
        body,
      }),
  };
}
