import { expect } from "chai";

import { restored } from "../../../../../support/client/dotnet.ts";
import { startRegistryApp } from "../../../../../support/client/registry.ts";
import { nupkg } from "../../../../../support/git/archive.ts";
import { storedEarlier } from "../../../../../support/package/earlier-upload.ts";
import { needsProgram } from "../../../../../support/process/program.ts";

const { app, anna, at, baseOf } = await startRegistryApp();
let repositoryId: string;

before(async () => {
  const settings = { hasAnonymousAccess: true };
  repositoryId = (await at.local("nu", "nuget", settings)).repositoryUuid;
});

async function push(content: Buffer) {
  const form = new FormData();
  form.append("package", new Blob([new Uint8Array(content)]), "package.nupkg");
  const headers = { "x-nuget-apikey": anna.token };
  const answer = await fetch(`${baseOf("nu")}/package`, { method: "PUT", headers, body: form });
  return { status: answer.status, reason: answer.statusText, text: await answer.text() };
}

const dependency = (range: string, id = "Other", framework = "netstandard2.0") =>
  `<authors>A</authors><description>d</description><dependencies><group targetFramework="${framework}"><dependency id="${id}" version="${range}"/></group></dependencies>`;

/**
 * What NuGetVersion.TryParse, VersionRange.TryParse, PackageIdValidator and NuGetFramework.Parse of NuGet.Versioning 7
 * refuse: NuGet.Client, test/NuGet.Core.Tests/NuGet.Versioning.Test.
 */
const badVersions = [
  ...["1.0.0-01", "1.0.0-alpha.01", "1.0.0-a..b", "1.0.0-.a", "1.0.0-a.", "1.0.0-", "1.0.0+"],
  ...["2147483648.0.0", "1.2147483648", "1.0.0+a..b", "1.0.0+a+b", "1.0.0.0.0", "1..0", "1.0."],
  ...[".1", "1.0.0-é", "+1.0", "1.-1", "$version$", "1.0.0-a b"],
];
const badRanges = [
  ...["$version$", "(1.0)", "(,)", "[,]", "(1.0", "1.0)", "[1.0,2.0,3.0]", "[2.0,1.0]"],
  ...["[1.0,1.0)", "[1.0,2.*)", "1.*.0", "[]", "()", "(1.0]", "[1.0.0-01,2.0]", "-*", "*-beta"],
  ...["*.*", "1.0.0.0.*", "(*)", "[*]", "1.0.0-a..b", "2147483648", "^1.0", "1.0 || 2.0"],
];
const goodRanges = [
  ...["1.0", "[1.0]", "[1.0,2.0)", "(,1.0]", "(, )", "[1.0,)", "1.*", "*", "[1.*,2.0)", "1.0.0-*"],
  ...["1.0.0-beta*", "*-*", " [ 1.0 , 2.0 ] ", "*-beta.*", "(1.0,1.0)", "1.0.0+build", "1-beta"],
];
const badIds = ["a..b", ".a", "a.", "a--b", "a b", "$id$", "a/b"];
const badFrameworks = [".NETFramework,Version=x", ",", "portable-net45,Version=q"];

describe("what NuGet cannot parse", () => {
  const refused: readonly (readonly [what: string, content: Buffer])[] = [
    ...badVersions.map((text) => [`version ${text}`, nupkg("Pad", text)] as const),
    ...badRanges.map((text) => [`range ${text}`, nupkg("Pad", "3.0.0", dependency(text))] as const),
    ...badIds.filter((id) => id !== "a/b").map((id) => [`id ${id}`, nupkg(id, "1.0.0")] as const),
    ...badIds.map(
      (id) => [`dependency ${id}`, nupkg("Pad", "3.0.0", dependency("1.0", id))] as const,
    ),
    ...badFrameworks.map(
      (text) => [`framework ${text}`, nupkg("Pad", "3.0.0", dependency("1", "A", text))] as const,
    ),
  ];
  it("is refused at the upload", async () => {
    for (const [what, content] of refused) {
      const { status, reason, text } = await push(content);
      expect(status, `${what}: ${text}`).to.equal(422);
      expect(reason, what).to.match(/not a valid|is letters/);
    }
  });

  it("is no more than that: ranges of every kind are taken", async () => {
    for (const [n, text] of goodRanges.entries()) {
      const answer = await push(nupkg("Ranges", `1.0.${n}`, dependency(text)));
      expect(answer.status, `${text}: ${answer.text}`).to.equal(201);
    }
  });
});

describe("a package with versions of an earlier release that NuGet cannot parse", () => {
  needsProgram("dotnet");

  const metadata = (range: string, nuspec = "<id>Pad</id>") => ({
    nuspec,
    fields: { authors: "A", description: "d" },
    dependencyGroups: [
      { targetFramework: "netstandard2.0", dependencies: [{ id: "Other", range }] },
    ],
    packageTypes: ["Dependency"],
  });

  before(async () => {
    for (const version of ["1.0.0", "1.1.0"]) {
      const { status, text } = await push(
        nupkg("Pad", version, "<authors>A</authors><description>d</description>"),
      );
      expect(status, text).to.equal(201);
    }
    const earlier = { repositoryId, type: "nuget", name: "Pad" } as const;
    for (const version of [
      "1.0.0-01",
      "1.0.0-alpha.01",
      "1.0.0-a..b",
      "1.0.0-.a",
      "2147483648.0.0",
    ]) {
      const fileName = `pad.${version}.nupkg`;
      const of = { ...earlier, version, fileName, metadata: metadata("1.0") };
      await storedEarlier(app, anna, of);
    }
    const ranged = {
      version: "1.2.0",
      fileName: "pad.1.2.0.nupkg",
      metadata: metadata("$version$"),
    };
    await storedEarlier(app, anna, { ...earlier, ...ranged });
  });

  it("installs in every other version, also for many clients without credentials", async () => {
    for (const range of ["[1.0.0]", "1.*"]) {
      const [resolved] = await restored(`${baseOf("nu")}/index.json`, ["Pad", range]);
      expect(resolved).to.equal(range === "1.*" ? "Pad/1.1.0" : "Pad/1.0.0");
    }
    const [resolved] = await restored(
      `${baseOf("nu")}/index.json`,
      ["Pad", "1.0.0"],
      ["anna", anna.token],
    );
    expect(resolved).to.equal("Pad/1.0.0");
  }).timeout(240_000);

  it("is found by a search, which shows the others", async () => {
    const answer = await fetch(`${baseOf("nu")}/query?q=pad&prerelease=true&semVerLevel=2.0.0`);
    const { data } = (await answer.json()) as {
      data: readonly { id: string; versions: readonly { version: string }[] }[];
    };
    const versions = data.map((each) => [each.id, each.versions.map(({ version }) => version)]);
    expect(versions).to.deep.equal([["Pad", ["1.0.0", "1.1.0"]]]);
  });
});
