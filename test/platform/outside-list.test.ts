import { expect } from "chai";
import { z } from "zod";
import { parseRegistration } from "../../src/package/nuget/registration.ts";
import { readManifest } from "../../src/platform/container/manifest.ts";
import { outsideList, outsideListMax } from "../../src/platform/outside-list.ts";

const tooMany = <Item>(item: Item): readonly Item[] => Array(outsideListMax + 1).fill(item);

describe("a list in a document from outside", () => {
  it("has a largest length", () => {
    const list = outsideList(z.int());
    expect(list.safeParse(tooMany(1)).success).to.equal(false);
    expect(list.safeParse(tooMany(1).slice(1)).success).to.equal(true);
  });

  it("is refused in a manifest of an image", () => {
    const digest = `sha256:${"0".repeat(64)}`;
    const config = { digest, size: 1, urls: tooMany("") };
    const mediaType = "application/vnd.oci.image.manifest.v1+json";
    const bytes = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType, config, layers: [] }));
    expect(() => readManifest(bytes, mediaType)).to.throw();
  });

  it("is refused in a registration of NuGet", () => {
    const catalogEntry = { version: "1.0.0", dependencyGroups: tooMany({}) };
    const page = {
      "@id": "a",
      count: 1,
      lower: "1.0.0",
      upper: "1.0.0",
      items: [{ catalogEntry }],
    };
    const bytes = Buffer.from(JSON.stringify({ items: [page] }));
    const of = { of: "index", key: "a", base: "b", hive: "c", want: { kind: "index" } } as const;
    expect(parseRegistration({ bytes, ...of })).to.deep.equal({ kind: "malformed" });
  });
});
