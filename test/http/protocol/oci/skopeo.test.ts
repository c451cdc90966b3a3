import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";

import { startTestApp } from "../../../support/app/app.ts";
import { repositoriesAt } from "../../../support/client/registry.ts";
import { needsProgram } from "../../../support/process/program.ts";

const run = promisify(execFile);
const imageType = "application/vnd.oci.image.manifest.v1+json";
const indexType = "application/vnd.oci.image.index.v1+json";

if (needsProgram("skopeo")) {
  const app = await startTestApp();
  const anna = await app.givenUser("anna");
  await app.givenProject(anna, "Forge");
  const at = repositoriesAt(app, "/project/anna/Forge/repositories", anna.token);
  const folder = await mkdtemp(path.join(tmpdir(), "ledgerforge-skopeo-"));
  after(() => rm(folder, { recursive: true, force: true }));
  before(() => at.local("Images", "container", { isDeletePackageAllowed: true }));

  const remote = (tag: string) => `docker://${new URL(app.url).host}/anna/forge/images/${tag}`;
  const credentials = `anna:${anna.token}`;
  const skopeo = (...given: string[]) => run("skopeo", ["--insecure-policy", ...given]);

  describe("skopeo", () => {
    it("copies an image of several architectures there and back", async () => {
      const from = path.join(folder, "from");
      await writeLayout(from, ["amd64", "arm64"]);
      const push = ["--dest-tls-verify=false", "--dest-creds", credentials];
      await skopeo(
        "copy",
        "--all",
        "--preserve-digests",
        ...push,
        `oci:${from}:1`,
        remote("app:1"),
      );
      const pull = ["--src-tls-verify=false", "--src-creds", credentials];
      const to = path.join(folder, "to");
      await skopeo("copy", "--all", "--preserve-digests", ...pull, remote("app:1"), `oci:${to}:1`);
      expect(await manifestsIn(to)).to.deep.equal(await manifestsIn(from));
    });

    it("mounts the layers of an image it copies within the registry, and deletes it", async () => {
      const from = path.join(folder, "one");
      await writeLayout(from, ["amd64"]);
      const push = ["--dest-tls-verify=false", "--dest-creds", credentials];
      const pull = ["--src-tls-verify=false", "--src-creds", credentials];
      await skopeo(
        "copy",
        "--all",
        "--preserve-digests",
        ...push,
        `oci:${from}:1`,
        remote("one:1"),
      );
      await skopeo(
        "copy",
        "--all",
        "--preserve-digests",
        ...pull,
        ...push,
        remote("one:1"),
        remote("two:1"),
      );
      const read = ["--tls-verify=false", "--creds", credentials];
      const { stdout } = await skopeo("list-tags", ...read, remote("two"));
      expect((JSON.parse(stdout) as { Tags: string[] }).Tags).to.deep.equal(["1"]);
      await skopeo("delete", ...read, remote("two:1"));
      const failed = await skopeo("inspect", "--raw", ...read, remote("two:1")).catch(
        ({ stderr }: { stderr: string }) => stderr,
      );
      expect(failed).to.match(/manifest unknown|no such manifest/i);
    });
  });
}

type Index = Readonly<{ manifests: readonly Readonly<{ digest: string; platform: object }>[] }>;

/** Digest and platform of each manifest in the one index of a layout. */
async function manifestsIn(folder: string) {
  const read = async (...at: string[]) =>
    JSON.parse(await readFile(path.join(folder, ...at), "utf8")) as Index;
  const [index] = (await read("index.json")).manifests;
  const hex = index?.digest.slice("sha256:".length) ?? "";
  const { manifests } = await read("blobs", "sha256", hex);
  return manifests.map(({ digest, platform }) => ({ digest, platform }));
}

/** An OCI layout of an index that is tagged 1. */
async function writeLayout(folder: string, architectures: readonly string[]): Promise<void> {
  const blobs = path.join(folder, "blobs", "sha256");
  await mkdir(blobs, { recursive: true });
  const write = async (mediaType: string, content: Buffer) => {
    const hex = createHash("sha256").update(content).digest("hex");
    await writeFile(path.join(blobs, hex), content);
    return { mediaType, digest: `sha256:${hex}`, size: content.length };
  };
  const writeJson = (mediaType: string, value: object) =>
    write(mediaType, Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType, ...value })));
  const manifests = [];
  for (const architecture of architectures) {
    const layer = Buffer.alloc(300_000, architecture);
    const layers = [await write("application/vnd.oci.image.layer.v1.tar", layer)];
    const rootfs = { type: "layers", diff_ids: [layers[0]?.digest] };
    const config = Buffer.from(JSON.stringify({ architecture, os: "linux", rootfs }));
    const described = await write("application/vnd.oci.image.config.v1+json", config);
    const manifest = await writeJson(imageType, { config: described, layers });
    manifests.push({ ...manifest, platform: { architecture, os: "linux" } });
  }
  const index = await writeJson(indexType, { manifests });
  const annotations = { "org.opencontainers.image.ref.name": "1" };
  const top = { schemaVersion: 2, manifests: [{ ...index, annotations }] };
  await writeFile(path.join(folder, "index.json"), JSON.stringify(top));
  await writeFile(path.join(folder, "oci-layout"), '{"imageLayoutVersion":"1.0.0"}');
}
