import { expect } from "chai";

import { nupkg } from "../../../../support/git/archive.ts";
import { nugetRegistry } from "../../../../support/package/nuget-registry.ts";

const { base, get, json, push, unlist, found } = await nugetRegistry();

const about = (title: string, description: string, tags: string, more = "") =>
  `<title>${title}</title><description>${description}</description><tags>${tags}</tags>${more}`;
const tool = '<packageTypes><packageType name="DotnetTool" /></packageTypes>';
const needing = (range: string) =>
  `<dependencies><group targetFramework="net8.0"><dependency id="Other" version="${range}" /></group></dependencies>`;

before(async () => {
  await push(nupkg("Acme.Pad", "1.2.0", about("Left", "Adds spaces", "text, strings")));
  await push(nupkg("Acme.Pad", "1.9.0-BETA+build", about("Left", "Adds spaces", "text")));
  await push(nupkg("Acme.Json", "1.0.0", about("Reader", "Reads pads of text", "json")));
  await push(nupkg("Pad", "0.1.0", about("Padding", "", "")));
  await push(nupkg("Acme.Tool", "2.0.0", about("Tool", "Pads", "cli", tool)));
  await push(nupkg("Acme.Beta", "1.0.0-beta", about("Beta", "", "")));
  await push(nupkg("Acme.New", "1.0.0-rc.1", about("New", "Pads", "")));
  await push(nupkg("Acme.Gone", "1.0.0", about("Gone", "Pads", "")));
  await unlist("Acme.Gone", "1.0.0");
});

describe("a search of NuGet", () => {
  it("filters before it pages, and counts what matches", async () => {
    expect(await found("q=acme")).to.deep.equal([3, ["Acme.Json", "Acme.Pad", "Acme.Tool"]]);
    expect(await found("q=acme&take=1")).to.deep.equal([3, ["Acme.Json"]]);
    expect(await found("q=acme&take=2&skip=2")).to.deep.equal([3, ["Acme.Tool"]]);
    expect(await found("q=acme&take=0")).to.deep.equal([3, []]);
    const all = "q=acme&prerelease=true&semVerLevel=2.0.0";
    expect(await found(`${all}&take=2`)).to.deep.equal([5, ["Acme.Beta", "Acme.Json"]]);
    expect((await found("q=acme&prerelease=true"))[0], "without SemVer 2").to.equal(4);
    expect(await found("packageType=dotnettool")).to.deep.equal([1, ["Acme.Tool"]]);
    expect(await found("q=gone")).to.deep.equal([0, []]);
  });

  it("looks for each word in id, title, description and tags, and gives the best first", async () => {
    expect(await found("q=PAD")).to.deep.equal([4, ["Pad", "Acme.Pad", "Acme.Json", "Acme.Tool"]]);
    expect(await found("q=text+acme")).to.deep.equal([2, ["Acme.Pad", "Acme.Json"]]);
    expect(await found("q=strings%20left")).to.deep.equal([1, ["Acme.Pad"]]);
    expect(await found("q=left+none")).to.deep.equal([0, []]);
    expect(await found("q=packageid:PAD")).to.deep.equal([1, ["Pad"]]);
    expect((await found("q="))[0]).to.equal(4);
  });

  it("completes ids and versions in the same way", async () => {
    const ids = async (query: string) => (await json(`autocomplete?${query}`))["data"];
    expect(await json("autocomplete?q=pad&take=1")).to.include({ totalHits: 2 });
    expect(await ids("q=pad")).to.deep.equal(["Pad", "Acme.Pad"]);
    expect(await ids("q=new")).to.deep.equal([]);
    expect(await ids("q=new&prerelease=true&semVerLevel=2.0.0")).to.deep.equal(["Acme.New"]);
    expect(await ids("id=acme.pad")).to.deep.equal(["1.2.0"]);
    expect(await ids("id=acme.pad&prerelease=true&semVerLevel=2.0.0")).to.deep.equal([
      ...["1.2.0", "1.9.0-BETA+build"],
    ]);
  });

  it("hides from old clients only what has a bound of SemVer 2", async () => {
    await push(nupkg("Old.Range", "1.0.0", needing("[1.0.0-beta, 2.0.0)")));
    await push(nupkg("New.Range", "1.0.0", needing("[1.0.0-beta.1, 2.0.0)")));
    expect((await get(`${base}/registration/old.range/index.json`)).status).to.equal(200);
    expect((await get(`${base}/registration/new.range/index.json`)).status).to.equal(404);
    expect((await found("q=range"))[1]).to.deep.equal(["Old.Range"]);
  });
});
