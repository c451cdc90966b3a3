import { expect } from "chai";

import { readManifest } from "../../../src/platform/container/manifest.ts";

const type = "application/vnd.oci.image.index.v1+json";
const read = (annotations: object, manifests: readonly object[] = []) => {
  const manifest = { schemaVersion: 2, mediaType: type, manifests, annotations };
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

  it("names at most 1,000 contents, however often each", () => {
    const mediaType = "application/vnd.oci.image.manifest.v1+json";
    const named = Array.from({ length: 1_001 }, (_, n) => {
      const digest = `sha256:${n.toString(16).padStart(64, "0")}`;
      return { mediaType, digest, size: 2 };
    });
    const most = named.slice(0, 1_000);
    read({}, [...most, ...most]);
    expect(() => read({}, named))
      .to.throw("over 1000 contents")
      .with.property("code", "container.manifest_invalid");
  });
});
