import { expect } from "chai";
import { nativeRegistry } from "../../../../support/client/native-registry.ts";
import { nupkg } from "../../../../support/git/archive.ts";

type Json = Readonly<Record<string, unknown>>;

const { at, anna, baseOf, textOf } = await nativeRegistry();
const to = baseOf("nu");
const json = async (url: string) => JSON.parse(await textOf(url)) as Json;

function push(content: Buffer): Promise<Response> {
  const form = new FormData();
  form.append("package", new Blob([new Uint8Array(content)]), "package.nupkg");
  const headers = { "x-nuget-apikey": anna.token };
  return fetch(`${to}/package/`, { method: "PUT", headers, body: form });
}

before(() => at.local("nu", "nuget"));

describe("a repository of NuGet", () => {
  it("pages registrations of many versions", async () => {
    const versions = Array.from({ length: 130 }, (_, n) => `0.${n}.0`);
    // Ten at a time.
    for (let at = 0; at < versions.length; at += 10) {
      await Promise.all(versions.slice(at, at + 10).map((each) => push(nupkg("Many", each))));
    }
    const index = await json(`${to}/registration/many/index.json`);
    const pages = index["items"] as { "@id": string; count: number; items?: unknown }[];
    expect(pages.map(({ count, items }) => [count, items])).to.deep.equal([
      [64, undefined],
      [64, undefined],
      [2, undefined],
    ]);
    const last = await json(pages[2]?.["@id"] ?? "");
    const leaves = last["items"] as { catalogEntry: Json }[];
    expect(leaves.map((leaf) => leaf.catalogEntry["version"])).to.deep.equal([
      "0.128.0",
      "0.129.0",
    ]);
  });
});
