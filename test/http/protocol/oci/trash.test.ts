import { createHash } from "node:crypto";
import { expect } from "chai";

import { basicAuth } from "../../../support/app/basic-auth.ts";
import { startRegistryApp } from "../../../support/client/registry.ts";

const { app, anna, at } = await startRegistryApp();
const { token } = anna;
const authorization = basicAuth("anna", token);
const imageType = "application/vnd.oci.image.manifest.v1+json";
const image = `${app.url}/v2/anna/forge/images/tool`;
const place = "/project/anna/forge/repositories";

const digestOf = (content: string) =>
  `sha256:${createHash("sha256").update(content).digest("hex")}`;
const send = (method: string, path: string, body?: string, type = "application/octet-stream") =>
  fetch(`${image}/${path}`, {
    method,
    headers: { authorization, "content-type": type },
    ...(body === undefined ? {} : { body }),
  });
const descriptor = (mediaType: string, content: string) => ({
  mediaType: `application/vnd.oci.image.${mediaType}`,
  digest: digestOf(content),
  size: Buffer.byteLength(content),
});
const listed = async (path: string) => {
  const { body, text } = await app.get(`${place}/${path}`, { token });
  return Object.values(body["_embedded"] ?? expect.fail(text)).flat() as { id: string }[];
};

describe("an image that was deleted as a package", () => {
  it("is pulled again, by its tag as well, once it is restored from the trash", async () => {
    const settings = { isDeletePackageAllowed: true };
    const { repositoryUuid: id } = await at.local("images", "container", settings);
    for (const content of ["{}", "a layer"]) {
      const answer = await send("POST", `blobs/uploads/?digest=${digestOf(content)}`, content);
      expect(answer.status, await answer.text()).to.equal(201);
    }
    const config = descriptor("config.v1+json", "{}");
    const layers = [descriptor("layer.v1.tar+gzip", "a layer")];
    const manifest = JSON.stringify({ schemaVersion: 2, mediaType: imageType, config, layers });
    const stored = await send("PUT", "manifests/v1", manifest, imageType);
    expect(stored.status, await stored.text()).to.equal(201);
    const read = async (...paths: string[]) =>
      Promise.all(paths.map(async (path) => (await send("GET", path)).status));
    const names = ["manifests/v1", `manifests/${digestOf(manifest)}`];

    const [found] = await listed(`${id}/package`);
    const [version] = await listed(`${id}/package/${found?.id}/version`);
    const path = `${place}/${id}/package/${found?.id}/version/${version?.id}`;
    expect((await app.delete(path, { token })).status).to.equal(204);
    expect(await read(...names)).to.deep.equal([404, 404]);
    expect((await listed(`${id}/trash`)).map((each) => each.id)).to.deep.equal([version?.id]);

    const restored = await app.post(`${place}/${id}/trash/${version?.id}/restore`, { token });
    expect(restored.status, restored.text).to.equal(200);
    const blob = `blobs/${digestOf("a layer")}`;
    expect(await read(...names, blob)).to.deep.equal([200, 200, 200]);
  });
});
