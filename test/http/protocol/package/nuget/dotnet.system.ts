import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";

import { nativeRegistry } from "../../../../support/client/native-registry.ts";
import { nupkg, nupkgParts as parts, zip } from "../../../../support/git/archive.ts";
import { temporaryDirectory } from "../../../../support/git/git.ts";
import { needsProgram } from "../../../../support/process/program.ts";

const { anna, at, baseOf, bytes } = await nativeRegistry();

/** `dotnet` in a directory whose only source is the repository. */
async function client(repository: string) {
  const cwd = await temporaryDirectory();
  const source = `<add key="forge" value="${baseOf(repository)}/index.json" allowInsecureConnections="true" />`;
  const login = `<add key="Username" value="anna" /><add key="ClearTextPassword" value="${anna.token}" />`;
  await writeFile(
    path.join(cwd, "nuget.config"),
    `<configuration><packageSources><clear />${source}</packageSources>
     <packageSourceCredentials><forge>${login}</forge></packageSourceCredentials></configuration>`,
  );
  const env = {
    ...process.env,
    DOTNET_CLI_HOME: cwd,
    DOTNET_CLI_TELEMETRY_OPTOUT: "1",
    DOTNET_NOLOGO: "1",
    DOTNET_CLI_UI_LANGUAGE: "en",
    NUGET_PACKAGES: path.join(cwd, "packages"),
  };
  /** What it prints; a failure begins with its code. */
  const dotnet = async (...args: readonly string[]): Promise<string> => {
    try {
      return (await promisify(execFile)("dotnet", args, { cwd, env })).stdout;
    } catch (error) {
      const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
      return `exit ${code}: ${stdout}${stderr}`;
    }
  };
  return {
    cwd,
    dotnet,
    file: (name: string, content: Buffer | string) => writeFile(path.join(cwd, name), content),
    push: (name: string, ...more: readonly string[]) =>
      dotnet("nuget", "push", name, "--source", "forge", "--api-key", anna.token, ...more),
    async search(...more: readonly string[]) {
      const text = await dotnet(
        "package",
        "search",
        ...more,
        "--source",
        "forge",
        "--format",
        "json",
      );
      const { searchResult } = JSON.parse(text) as {
        searchResult: { packages: { id: string; latestVersion: string; version?: string }[] }[];
      };
      return searchResult.flatMap(({ packages }) => packages);
    },
  };
}

describe("dotnet", () => {
  needsProgram("dotnet");

  it("is refused a version that exists, in words, and goes on where it may", async () => {
    await at.local("fixed", "nuget", { packageReuploadType: "NONE" });
    const { push, file } = await client("fixed");
    await file("Acme.Pad.1.0.0.nupkg", nupkg("Acme.Pad", "1.0.0"));
    expect(await push("Acme.Pad.1.0.0.nupkg")).to.include("Your package was pushed.");
    const again = await push("Acme.Pad.1.0.0.nupkg");
    expect(again)
      .to.match(/^exit 1:.*409/s)
      .and.include("already exists");
    expect(await push("Acme.Pad.1.0.0.nupkg", "--skip-duplicate")).to.include("already exists");
  }).timeout(240_000);

  it("pushes symbols of the old kind beside a package, which stays as it is", async () => {
    await at.local("loose", "nuget");
    const { push, file } = await client("loose");
    const content = nupkg("Acme.Old", "1.0.0");
    await file("Acme.Old.1.0.0.nupkg", content);
    const symbols = [...parts("Acme.Old", "1.0.0"), ["lib/net8.0/Acme.Old.pdb", "BSJB"] as const];
    await file("Acme.Old.1.0.0.symbols.nupkg", zip(symbols));
    const url = `${baseOf("loose")}/flat/acme.old/1.0.0/acme.old.1.0.0.nupkg`;
    const isWhole = async () => (await bytes(url)).equals(content);
    expect(await push("Acme.Old.1.0.0.nupkg")).to.include("Your package was pushed.");
    const refused = await push("Acme.Old.1.0.0.symbols.nupkg");
    expect(refused)
      .to.match(/^exit 1:.*409/s)
      .and.include("snupkg");
    expect(await isWhole()).to.equal(true);
    expect(await push("*.nupkg", "--skip-duplicate")).not.to.include("exit");
    expect(await isWhole()).to.equal(true);
    await file("Acme.Old.1.0.0.nupkg", nupkg("Acme.Old", "1.0.0", "<tags>new</tags>"));
    await push("Acme.Old.1.0.0.nupkg");
    expect(await isWhole()).to.equal(false);
  }).timeout(240_000);

  it("finds what is there, filtered before it is paged, and restores it", async () => {
    await at.local("many", "nuget");
    const { push, file, search, dotnet, cwd } = await client("many");
    const about = "<title>Left</title><tags>text strings</tags><description>Pads it</description>";
    await mkdir(path.join(cwd, "all"));
    for (let n = 10; n < 40; n += 1) {
      const version = n % 2 === 0 ? "1.0.0-rc.1" : "01.00.0";
      await file(path.join("all", `Acme.N${n}.nupkg`), nupkg(`Acme.N${n}`, version, about));
    }
    expect(await push("all/*.nupkg")).to.include("Your package was pushed.");
    expect(await search("acme text", "--take", "100")).to.have.length(15);
    expect(await search("strings PADS", "--take", "100", "--prerelease")).to.have.length(30);
    expect(await search("acme", "--take", "5", "--skip", "12")).to.have.length(3);
    const [found] = await search("N11");
    expect(found).to.include({ id: "Acme.N11", latestVersion: "1.0.0" });
    await file(
      "app.csproj",
      `<Project Sdk="Microsoft.NET.Sdk"><PropertyGroup><TargetFramework>net10.0</TargetFramework></PropertyGroup>
       <ItemGroup><PackageReference Include="Acme.N11" Version="1.0.*" /></ItemGroup></Project>`,
    );
    const restored = await dotnet("restore", "app.csproj");
    expect(restored).to.include("Restored");
    const assets = await readFile(path.join(cwd, "obj", "project.assets.json"), "utf8");
    expect(assets).to.include("Acme.N11/1.0.0");
  }).timeout(240_000);
});
