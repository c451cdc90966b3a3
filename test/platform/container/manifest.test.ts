import { expect } from "chai";

import { readManifest } from "../../../src/platform/container/manifest.ts";

const type = "application/vnd.oci.image.index.v1+json";
const read = (annotations: object) => {
  const manifest = { schemaVersion: 2, mediaType: type, manifests: [], annotations };
  return readManifest(Buffer.from(JSON.stringify(manifest)), type);
};

describe("a manifest", () => {
  it("is refused with annotations that cannot be stored", () => {
    read({ "org.example.name": "forge" });
    for (const text of ["a\0", "\ud800"]) {
      for (const annotations of [{ name: text }, { [text]: "value" }]) {
        expect(() => read(annotations))
          .to.throw("characters that cannot be stored")
          .with.property("code", "container.manifest_invalid");
      }
    }
  });
});
