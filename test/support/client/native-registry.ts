import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";

import { basicAuth } from "../app/basic-auth.ts";
import { temporaryDirectory } from "../git/git.ts";
import { startRegistryApp } from "./registry.ts";

export const run = promisify(execFile);

export const sha256 = (content: Buffer): string =>
  createHash("sha256").update(content).digest("hex");

/** An app with a project of anna, and her requests at the native paths of its repositories. */
export async function nativeRegistry() {
  const { app, anna, at, baseOf } = await startRegistryApp();
  const authorization = basicAuth("anna", anna.token);
  const get = (url: string, headers: Record<string, string> = {}) =>
    fetch(url, { headers: { authorization, ...headers } });
  async function bytes(url: string): Promise<Buffer> {
    const answer = await get(url);
    expect(answer.status, url).to.equal(200);
    return Buffer.from(await answer.arrayBuffer());
  }
  return {
    app,
    anna,
    at,
    get,
    bytes,
    baseOf,
    withLogin: (url: string) => url.replace("//", `//anna:${anna.token}@`),
    textOf: async (url: string) => (await bytes(url)).toString("utf8"),
    held: async () => Number((await app.deps.db("public.blob_hold").count())[0]!["count"]),
    send: (
      method: string,
      url: string,
      body?: Buffer | string,
      headers: Record<string, string> = { authorization },
    ) =>
      fetch(url, {
        method,
        headers,
        ...(body !== undefined && {
          body: typeof body === "string" ? body : new Uint8Array(body),
        }),
      }),
    /** What gpgv says of a signature by the key of a repository. */
    async verified(base: string, signed: Buffer, content?: Buffer): Promise<string> {
      const cwd = await temporaryDirectory();
      const file = (name: string, data: Buffer) => writeFile(path.join(cwd, name), data);
      await file("key.asc", await bytes(`${base}/repository.key`));
      await file("signed", signed);
      if (content !== undefined) await file("content", content);
      const env = { ...process.env, GNUPGHOME: cwd };
      await run("gpg", ["--dearmor", "-o", "key.gpg", "key.asc"], { cwd, env });
      const files = ["signed", ...(content === undefined ? [] : ["content"])];
      return (await run("gpgv", ["--keyring", "./key.gpg", ...files], { cwd, env })).stderr;
    },
  };
}
