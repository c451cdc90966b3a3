import { readFile } from "node:fs/promises";
import http from "node:http";
import path from "node:path";
import { gunzipSync } from "node:zlib";
import { expect } from "chai";
import { z } from "zod";

import { packageRoot } from "../../../src/platform/installation.ts";
import { isRecord } from "../../../src/platform/is-record.ts";
import { startRegistryApp } from "../../support/registry.ts";

/**
 * What clients sent that tests cannot install, and what they were content with: recorded by a proxy between the
 * client and the service. `{host}`, `{url}`, `{token}`, `{basic}` and `{time}` represent what differs each time.
 */
const Recorded = z.strictObject({
  client: z.string(),
  exchanges: z.array(
    z.strictObject({
      method: z.string(),
      /** Below the repository. */
      path: z.string(),
      /** In the order and the spelling of the client. */
      headers: z.array(z.tuple([z.string(), z.string()])),
      body: z.base64().optional(),
      status: z.int(),
      /** Of the answer, one of these at most. */
      json: z.unknown().optional(),
      answer: z.base64().optional(),
    }),
  ),
});
type Exchange = z.output<typeof Recorded>["exchanges"][number];
type Reply = Readonly<{ status: number; content: Buffer }>;

const { app, anna, at, baseOf } = await startRegistryApp();
const values: Readonly<Record<string, string>> = {
  host: new URL(app.url).host,
  token: anna.token,
  basic: Buffer.from(`anna:${anna.token}`).toString("base64"),
};
const filled = (text: string): string =>
  text.replaceAll(/\{(host|token|basic)\}/g, (_, name: string) => values[name] ?? "");

function send(base: string, { method, path, headers, body }: Exchange): Promise<Reply> {
  return new Promise((resolve, reject) => {
    // Node puts the names as they are into the request and adds nothing that is there.
    const own = Object.fromEntries(headers.map(([name, value]) => [name, filled(value)]));
    const request = http.request(`${base}/${path}`, { method, headers: own }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk)).on("error", reject);
      response.on("end", () => {
        const packed = Buffer.concat(chunks);
        const isPacked = response.headers["content-encoding"] === "gzip";
        const content = isPacked ? gunzipSync(packed) : packed;
        resolve({ status: response.statusCode ?? 0, content });
      });
    });
    request.on("error", reject).end(Buffer.from(body ?? "", "base64"));
  });
}

const masked = (content: Buffer): unknown =>
  JSON.parse(
    content
      .toString()
      .replaceAll(app.url, "{url}")
      .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, "{time}"),
  );

/** What is recorded; the service may say more by now. */
function common(found: unknown, recorded: unknown): unknown {
  if (Array.isArray(found) && Array.isArray(recorded)) {
    return found.map((each, index) => common(each, recorded[index]));
  }
  if (!isRecord(found) || !isRecord(recorded)) return found;
  const kept = Object.entries(found).filter(([name]) => name in recorded);
  return Object.fromEntries(kept.map(([name, value]) => [name, common(value, recorded[name])]));
}

describe("a recorded client", () => {
  for (const type of ["nuget", "conda", "helm", "conan"]) {
    it(`of ${type} gets the answers that it was content with`, async () => {
      const file = path.join(packageRoot, `test/http/registry/recorded/${type}.json`);
      const { exchanges } = Recorded.parse(JSON.parse(await readFile(file, "utf8")));
      await at.local(type, type, { packageReuploadType: "NONE", isDeletePackageAllowed: true });
      for (const exchange of exchanges) {
        const { status, content } = await send(baseOf(type), exchange);
        const step = `${exchange.method} ${exchange.path}`;
        expect(status, `${step} ${content.toString()}`).to.equal(exchange.status);
        const { json, answer } = exchange;
        if (json !== undefined) expect(common(masked(content), json), step).to.deep.equal(json);
        if (answer !== undefined) expect(content.toString("base64"), step).to.equal(answer);
      }
    });
  }
});
