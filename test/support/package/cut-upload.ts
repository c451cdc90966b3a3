import { readdir } from "node:fs/promises";
import { connect } from "node:net";
import path from "node:path";
import { expect } from "chai";

import { eventually } from "../app/eventually.ts";
import { nativeRegistry } from "../client/native-registry.ts";
import type { PackageUpload } from "./package-upload.ts";

type Registry = Awaited<ReturnType<typeof nativeRegistry>>;

/** Sends so much of the body, and no more; resolves once the service has closed the connection. */
function sendPart(
  { app, anna }: Pick<Registry, "app" | "anna">,
  name: string,
  { method, path: where, type, body }: PackageUpload,
  length: number,
): Promise<void> {
  const { hostname, port } = new URL(app.url);
  const target = `/registry/project/anna/forge/repository/${name}/${where}`;
  const head = [
    `${method} ${target} HTTP/1.1`,
    `Host: ${hostname}:${port}`,
    `Authorization: Bearer ${anna.token}`,
    `Content-Type: ${type}`,
    `Content-Length: ${body.length}`,
  ];
  return new Promise<void>((resolve) => {
    const socket = connect(Number(port), hostname, () => {
      socket.write(`${head.join("\r\n")}\r\n\r\n`);
      socket.end(body.subarray(0, length));
    });
    socket.on("error", () => undefined).once("close", () => resolve());
    socket.resume();
  });
}

/** Declares for each upload that one which stops on its way leaves nothing; call it with `await`. */
export async function cutUploads(uploads: Readonly<Record<string, PackageUpload>>): Promise<void> {
  const registry = await nativeRegistry();
  const { app, at, anna, send, get, bytes, held } = registry;

  describe("an upload that stops at any tenth", () => {
    for (const [type, upload] of Object.entries(uploads)) {
      it(`of ${type} leaves nothing, and the whole one is taken after it`, async () => {
        await at.local(type, type);
        const stored = () => app.deps.db("package_version").count().first();
        const base = `${app.url}/registry/project/anna/forge/repository/${type}`;
        const index = async () => {
          const answer = await get(`${base}/${upload.index}`);
          return [answer.status, await answer.text()];
        };
        const before = [await stored(), await index()];
        const cuts = Array.from({ length: 9 }, (_, n) =>
          sendPart(registry, type, upload, Math.floor((upload.body.length * (n + 1)) / 10)),
        );
        await Promise.all(cuts);
        await eventually(async () => {
          const spooled = await readdir(path.join(app.dataDir, "blobs", "temporary")).catch(
            () => [],
          );
          return spooled.length === 0 && (await held()) === 0;
        });
        expect([await stored(), await index()]).to.deep.equal(before);
        const headers = { authorization: `Bearer ${anna.token}`, "content-type": upload.type };
        const whole = await send(upload.method, `${base}/${upload.path}`, upload.body, headers);
        expect(whole.status, await whole.text()).to.be.within(200, 201);
        expect(await stored()).not.to.deep.equal(before[0]);
        expect(await index()).not.to.deep.equal(before[1]);
        expect((await bytes(`${base}/${upload.file}`)).equals(upload.content)).to.equal(true);
      });
    }
  });
}
