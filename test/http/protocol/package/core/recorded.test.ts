import { gunzipSync } from "node:zlib";
import { expect } from "chai";
import { decompress } from "fzstd";
import { z } from "zod";

import { isRecord } from "../../../../../src/platform/is-record.ts";
import { readRecording, recordingWith, sendRecorded } from "../../../../support/app/recorded.ts";
import { startRegistryApp } from "../../../../support/client/registry.ts";

/**
 * What clients sent that tests cannot install, with paths below the repository. `{host}`, `{url}`, `{token}`, `{basic}`
 * and `{time}` represent what differs each time.
 */
const Recorded = recordingWith({
  body: z.base64().optional(),
  /** Of the answer, one of these at most. */
  json: z.unknown().optional(),
  answer: z.base64().optional(),
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

async function send(base: string, { method, path, headers, body }: Exchange): Promise<Reply> {
  const own = Object.fromEntries(headers.map(([name, value]) => [name, filled(value)]));
  const sent = { method, headers: own, body: Buffer.from(body ?? "", "base64") };
  const { response, content } = await sendRecorded(`${base}/${path}`, sent);
  const isPacked = response.headers["content-encoding"] === "gzip";
  return { status: response.statusCode ?? 0, content: isPacked ? gunzipSync(content) : content };
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
      const file = `test/http/protocol/package/core/recorded/${type}.json`;
      const { exchanges } = await readRecording(Recorded, file);
      await at.local(type, type, { packageReuploadType: "NONE", isDeletePackageAllowed: true });
      for (const exchange of exchanges) {
        const { status, content } = await send(baseOf(type), exchange);
        const step = `${exchange.method} ${exchange.path}`;
        expect(status, `${step} ${content.toString()}`).to.equal(exchange.status);
        const { json, answer } = exchange;
        if (json !== undefined) expect(common(masked(content), json), step).to.deep.equal(json);
        if (answer === undefined) continue;
        const read = exchange.path.endsWith(".zst") ? decompress : (bytes: Buffer) => bytes;
        const recorded = Buffer.from(read(Buffer.from(answer, "base64")));
        expect(Buffer.from(read(content)).toString("base64"), step).to.equal(
          recorded.toString("base64"),
        );
      }
    });
  }
});
