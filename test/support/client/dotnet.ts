import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";

import { temporaryDirectory } from "../git/git.ts";

/**
 * Restores a project that needs a package, from one source of packages alone.
 *
 * @param credentials name and password; none are sent without them
 * @returns ids and versions that it resolved, such as `Pad/1.0.0`
 */
export async function restored(
  source: string,
  [id, range]: readonly [id: string, range: string],
  credentials?: readonly [name: string, password: string],
): Promise<readonly string[]> {
  const cwd = await temporaryDirectory();
  const file = (name: string, text: string) => writeFile(path.join(cwd, name), text);
  const [name = "", password = ""] = credentials ?? [];
  const own = `<own><add key="Username" value="${name}"/><add key="ClearTextPassword" value="${password}"/></own>`;
  await file(
    "nuget.config",
    `<configuration><packageSources><clear/><add key="own" value="${source}" protocolVersion="3" allowInsecureConnections="true"/></packageSources>${credentials ? `<packageSourceCredentials>${own}</packageSourceCredentials>` : ""}</configuration>`,
  );
  await file(
    "user.csproj",
    `<Project Sdk="Microsoft.NET.Sdk"><PropertyGroup><TargetFramework>net10.0</TargetFramework><DisableImplicitFrameworkReferences>true</DisableImplicitFrameworkReferences><AutomaticallyUseReferenceAssemblyPackages>false</AutomaticallyUseReferenceAssemblyPackages><NuGetAudit>false</NuGetAudit></PropertyGroup><ItemGroup><PackageReference Include="${id}" Version="${range}"/></ItemGroup></Project>`,
  );
  const env = {
    ...process.env,
    ...{ HOME: cwd, DOTNET_CLI_HOME: cwd, NUGET_PACKAGES: path.join(cwd, "packages") },
    ...{ DOTNET_CLI_TELEMETRY_OPTOUT: "1", DOTNET_NOLOGO: "1", MSBUILDDISABLENODEREUSE: "1" },
    DOTNET_GENERATE_ASPNET_CERTIFICATE: "false",
  };
  const run = promisify(execFile);
  const args = ["restore", "--no-cache", "--interactive", "false", "-v", "q"];
  await run("dotnet", args, { cwd, env }).catch(({ stdout, stderr }) => {
    throw new Error(`${stdout}${stderr}`);
  });
  const assets = JSON.parse(await readFile(path.join(cwd, "obj/project.assets.json"), "utf8"));
  return Object.keys(assets.libraries);
}
