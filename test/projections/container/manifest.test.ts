import { expect } from "chai";

import { readManifestMetadata } from "../../../src/projections/container/manifest.ts";

describe("what the read model of manifests takes from an event", () => {
  it("has no text that cannot be stored, also where the log's text hides it behind an escape", () => {
    const about = { mediaType: "a/b", artifactType: null, subject: "sha256:00", blobs: [] };
    const metadata = JSON.stringify({ ...about, annotations: { "a\0": "b\0", c: "\ud800" } });
    expect(readManifestMetadata(metadata).annotations).to.deep.equal({
      "a\ufffd": "b\ufffd",
      c: "\ufffd",
    });
  });
});
