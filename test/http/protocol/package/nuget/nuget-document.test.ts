import { expect } from "chai";

import { nupkg } from "../../../../support/git/archive.ts";
import { type Json, nugetRegistry } from "../../../../support/package/nuget-registry.ts";

const { base, get, json, push } = await nugetRegistry();

describe("the documents of NuGet", () => {
  const entryOf = async (id: string, hive = "registration-semver2") => {
    const { items } = await json(`${hive}/${id}/index.json`);
    const pages = items as { items: { catalogEntry: Json }[] }[];
    return pages.flatMap((page) => page.items.map(({ catalogEntry }) => catalogEntry));
  };

  it("have versions in their normal form", async () => {
    await push(nupkg("Acme.Pad", "1.02.0.0"));
    await push(nupkg("Acme.Pad", "1.9.0-BETA+build"));
    const versions = (await entryOf("acme.pad")).map(({ version }) => version);
    expect(versions).to.deep.equal(["1.2.0", "1.9.0-BETA+build"]);
    const { data } = await json("query?q=acme.pad");
    const [{ version, versions: shown }] = data as [{ version: string; versions: Json[] }];
    expect([version, shown[0]?.["version"]]).to.deep.equal(["1.2.0", "1.2.0"]);
    expect(await json("autocomplete?id=acme.pad")).to.deep.equal({ data: ["1.2.0"] });
  });

  it("show a license that is an expression as one, and no other", async () => {
    const license = (type: string, text: string) => `<license type="${type}">${text}</license>`;
    await push(nupkg("By.Expression", "1.0.0", license("expression", "MIT OR Apache-2.0")));
    await push(nupkg("By.File", "1.0.0", license("file", "LICENSE.txt")));
    expect((await entryOf("by.expression"))[0]).to.include({
      licenseExpression: "MIT OR Apache-2.0",
    });
    expect((await entryOf("by.file"))[0]).not.to.have.any.keys("licenseExpression", "license");
  });

  it("name each resource as clients know it", async () => {
    const { resources } = await json("index.json");
    const types = (resources as { "@type": string }[]).map((each) => each["@type"]);
    const forms = ["", "/3.0.0-beta", "/3.0.0-rc"];
    expect(types).to.include.members([
      ...forms.map((form) => `RegistrationsBaseUrl${form}`),
      ...[...forms, "/3.5.0"].map((form) => `SearchQueryService${form}`),
      ...[...forms, "/3.5.0"].map((form) => `SearchAutocompleteService${form}`),
      ...["RegistrationsBaseUrl/3.4.0", "RegistrationsBaseUrl/3.6.0"],
      ...["PackageBaseAddress/3.0.0", "PackagePublish/2.0.0", "SymbolPackagePublish/4.9.0"],
    ]);
  });

  it("come from the first part of a push, whatever follows it", async () => {
    await push(nupkg("First.Part", "1.0.0"), nupkg("Second.Part", "1.0.0"), Buffer.from("x"));
    expect(await entryOf("first.part")).to.have.length(1);
    expect((await get(`${base}/flat/second.part/index.json`)).status).to.equal(404);
  });
});
