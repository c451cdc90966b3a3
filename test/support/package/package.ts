import { readdir } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import type { TestApp } from "../app/app.ts";
import { eventually } from "../app/eventually.ts";

export type View = Readonly<Record<string, unknown>>;
export type FileView = View &
  Readonly<{ id: string; name: string; size: number; hashSHA256: string }>;
export type VersionView = View & Readonly<{ id: string; packageFiles: readonly FileView[] }>;

export const packageBase = "/registry/package";

/** The registry of the instance, as an administrator sees it; paths follow `/registry/package`. */
export function registryOf(app: TestApp, token: string) {
  const put = (at: string, body: Buffer | string) => app.put(packageBase + at, { token, body });

  async function stored(at: string, body: Buffer | string): Promise<VersionView> {
    const answer = await put(at, body);
    expect(answer.status, answer.text).to.equal(200);
    return answer.body as VersionView;
  }

  const spooled = () => readdir(path.join(app.dataDir, "blobs", "temporary")).catch(() => []);
  const held = async () => Number((await app.deps.db("public.blob_hold").count())[0]!["count"]);

  /** And nothing is left of it. */
  async function refused(at: string, body: Buffer | string, status: number, code: string) {
    const head = await app.head();
    const answer = await put(at, body);
    expect([answer.status, answer.body["code"]], answer.text).to.deep.equal([status, code]);
    expect(await app.head(), "events").to.equal(head);
    // What was sent is removed while the answer is on its way.
    await eventually(async () =>
      expect([await spooled(), await held()], "left behind").to.deep.equal([[], 0]),
    );
  }

  const fetchFile = (at: string, headers: Record<string, string> = {}, method = "GET") =>
    fetch(app.url + packageBase + at, {
      method,
      headers: { authorization: `token ${token}`, ...headers },
    });

  async function bytesOf(at: string): Promise<Buffer> {
    const answer = await fetchFile(at);
    expect(answer.status, at).to.equal(200);
    return Buffer.from(await answer.arrayBuffer());
  }

  async function list(at: string, name: string): Promise<readonly View[]> {
    const { status, body, text } = await app.get(packageBase + at, { token });
    expect(status, text).to.equal(200);
    return (body["_embedded"] as Record<string, View[]>)[name] ?? expect.fail(text);
  }

  const packages = (query = "size=200") => list(`?${query}`, "simplePackageInfoModelList");

  return {
    put,
    stored,
    refused,
    spooled,
    held,
    fetchFile,
    bytesOf,
    list,
    packages,
    get: async (at: string) => app.get(packageBase + at, { token }),
    packageCalled: async (name: string) =>
      (await packages()).find((each) => each["name"] === name) ?? expect.fail(`no ${name}`),
  };
}
