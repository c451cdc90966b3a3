import { chmod, readdir } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";
import { desksAt, follow } from "../../../support/client/client-lines.ts";
import { nativeRegistry } from "../../../support/client/native-registry.ts";
import { tgz } from "../../../support/git/archive.ts";
import { needsProgram } from "../../../support/process/program.ts";

/** The lines that pages of repositories print, for clients that few machines have. */
const { app, anna, at } = await nativeRegistry();
const deskFor = desksAt(app, anna, at);
const words = { NAME: "pad", VERSION: "1.0.0", FILE: "pad-1.0.0" };

describe("the lines for helm", () => {
  needsProgram("helm");

  it("upload a chart and read it", async () => {
    const desk = await deskFor("helm", { ...words, RELEASE: "mine" });
    const chart = tgz([
      ["pad/Chart.yaml", "apiVersion: v2\nname: pad\nversion: 1.0.0\n"],
      ["pad/templates/map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: pad}\n"],
    ]);
    const { publish } = desk.printed;
    const made = await desk.folder("made", { "pad-1.0.0.tgz": chart });
    await follow(publish, { cwd: made, home: desk.home });
    await desk.setUp(made);
    // There is no cluster to install it on: what would be installed is printed.
    const shown = desk.printed.install.replace("helm install", "helm template");
    expect(await follow(shown, { cwd: made, home: desk.home })).to.contain("kind: ConfigMap");
  }).timeout(240_000);
});

describe("the lines for conan", () => {
  needsProgram("conan");

  it("upload a recipe and install it", async () => {
    const desk = await deskFor("conan", words);
    const made = await desk.folder("made", {
      "conanfile.py":
        'from conan import ConanFile\nclass Pad(ConanFile):\n    name = "pad"\n    version = "1.0.0"\n',
    });
    const { home } = desk;
    await follow("conan profile detect && conan create .", { cwd: made, home });
    await desk.publish(made);
    await follow("conan remove --confirm pad", { cwd: made, home });
    await desk.install(made);
    expect(await follow("conan list pad", { cwd: made, home })).to.contain("pad/1.0.0");
  }).timeout(240_000);
});

describe("the lines for R", () => {
  needsProgram("Rscript");

  it("upload a package and install it", async () => {
    const desk = await deskFor("cran", words, (home) => ({ R_LIBS_USER: `${home}/library` }));
    await desk.folder("library");
    const description =
      "Package: pad\nVersion: 1.0.0\nTitle: Pads\nAuthor: A\nMaintainer: A <a@example.org>\nDescription: Pads.\nLicense: MIT\n";
    const source = tgz([
      ["pad/DESCRIPTION", description],
      ["pad/NAMESPACE", "export(pad)\n"],
      ["pad/R/pad.R", "pad <- function() 1\n"],
    ]);
    await desk.publish(await desk.folder("made", { "pad_1.0.0.tar.gz": source }));
    await desk.install(desk.home);
    expect(await readdir(path.join(desk.home, "library"))).to.include("pad");
  }).timeout(240_000);
});

describe("the lines for docker, followed by podman", () => {
  needsProgram("podman");

  it("log in, push an image and pull it", async () => {
    const env = (home: string) => ({
      PATH: `${home}/bin:${process.env["PATH"]}`,
      REGISTRY_AUTH_FILE: path.join(home, "auth.json"),
      CONTAINERS_REGISTRIES_CONF: path.join(home, "registries.conf"),
    });
    const image = { ...words, IMAGE: "pad", TAG: "1.0", ALIAS: "anna" };
    const desk = await deskFor("container", image, env);
    const { home, printed } = desk;
    const host = new URL(app.url).host;
    const own = `--root ${home}/root --runroot ${home}/run --storage-driver vfs`;
    const docker = `#!/bin/sh\nexec podman ${own} --log-level=error "$@"\n`;
    const bin = await desk.folder("bin", { docker });
    await chmod(path.join(bin, "docker"), 0o755);
    const conf = `[[registry]]\nlocation = "${host}"\ninsecure = true\n`;
    const made = await desk.folder(".", {
      "registries.conf": conf,
      "layer.tar": tgz([["etc/pad", "pad"]]),
    });
    const name = printed.install.replace("docker pull ", "").trim();
    const shell = { cwd: made, home, env: env(home) };
    await follow(`docker import -q layer.tar ${name}`, shell);
    await desk.publish(made);
    await follow(`docker rmi ${name}`, shell);
    await desk.install(made);
    expect(await follow("docker images", shell)).to.contain("/pad");
  }).timeout(240_000);
});
