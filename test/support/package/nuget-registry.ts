import { gunzipSync } from "node:zlib";
import { expect } from "chai";

import { nativeRegistry } from "../client/native-registry.ts";

export type Json = Readonly<Record<string, unknown>>;

/** An app with a repository of NuGet, and requests of clients to it. */
export async function nugetRegistry() {
  const registry = await nativeRegistry();
  const { at, anna, baseOf, get } = registry;
  await at.local("nu", "nuget");
  const base = baseOf("nu");
  const headers = { "x-nuget-apikey": anna.token };

  async function json(path: string): Promise<Json> {
    const answer = await get(`${base}/${path}`);
    expect(answer.status, path).to.equal(200);
    const body = Buffer.from(await answer.arrayBuffer());
    const isPacked = body[0] === 0x1f;
    return JSON.parse((isPacked ? gunzipSync(body) : body).toString()) as Json;
  }

  return {
    base,
    get,
    json,
    async push(content: Buffer, ...further: readonly Buffer[]): Promise<void> {
      const form = new FormData();
      for (const [index, each] of [content, ...further].entries()) {
        form.append(`part${index}`, new Blob([new Uint8Array(each)]), `part${index}.nupkg`);
      }
      const answer = await fetch(`${base}/package/`, { method: "PUT", headers, body: form });
      expect(answer.status, await answer.text()).to.equal(201);
    },
    async unlist(id: string, version: string): Promise<void> {
      const url = `${base}/package/${id}/${version}`;
      expect((await fetch(url, { method: "DELETE", headers })).status).to.equal(204);
    },
    async found(query: string): Promise<readonly [total: unknown, ids: readonly unknown[]]> {
      const { totalHits, data } = await json(`query?${query}`);
      return [totalHits, (data as Json[]).map(({ id }) => id)];
    },
  };
}
