import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import type { Knex } from "knex";
import { readSettings } from "../../src/config.ts";
import { configOfRunning } from "../../src/embedded/service-file.ts";
import { openBlobs } from "../../src/platform/blob/open.ts";
import { openEventStore } from "../../src/platform/event-store/eventstoredb.ts";
import { openPostgres } from "../../src/platform/postgres.ts";
import type { WorkerDeps } from "../../src/services/core/deps.ts";
import { blobCollectionWorker } from "../../src/workers/git/blob-collection.ts";
import { basicAuth } from "../support/app/basic-auth.ts";
import { eventually } from "../support/app/eventually.ts";
import { type Service, startService } from "../support/app/service.ts";
import { sendHalf } from "../support/client/half-sent.ts";
import { type PackageUpload, packageUploads } from "../support/package/package-upload.ts";
import { freePort } from "../support/process/free-port.ts";

const adminPassword = "a password for the crash test";
const recoveryMs = 180_000;
const dayMs = 24 * 60 * 60_000;
const digestOf = (content: Buffer) => createHash("sha256").update(content).digest("hex");

/** An upload of each type, with its repository and what shows that nothing, or all of it, is there. */
type Place = Readonly<{ upload: PackageUpload; base: string; list: string; index: unknown }>;

describe("killing the service in the middle of an upload of every type of package", function () {
  this.timeout(600_000);

  let root: string;
  let service: Service;
  let token: string | undefined;
  let db: Knex;

  before(async () => {
    root = await mkdtemp(path.join(tmpdir(), "lf-crash-"));
    const environment = { PORT: String(await freePort()), ADMIN_PASSWORD: adminPassword };
    service = await startService(path.join(root, "data"), environment);
    const scopes = ["PROJECT_READ", "PROJECT_WRITE", "READ_REGISTRY", "WRITE_REGISTRY"];
    const made = await post("/user/settings/access-token/create", { name: "t", scopes });
    token = String(made["token"]);
    await post("/project", { title: "forge", alias: "forge" });
    db = openPostgres((await config()).databaseUrl);
  });
  after(async () => {
    await db?.destroy();
    await service?.stop();
    await rm(root, { recursive: true, force: true });
  });

  it("lists and leaves nothing of bodies that came in part", async () => {
    const places = await given("half");
    const image = await imageGiven("half");
    const kept = await blobFiles();
    const [chunk, rest, whole] = [randomBytes(5_000), randomBytes(5_000), randomBytes(5_000)];
    const uploads = `${image}/blobs/uploads/`;
    const begun = await send("POST", uploads);
    const location = service.url + (begun.headers.get("location") ?? "");
    expect((await send("PATCH", location, chunk)).status).to.equal(202);
    const monolithic = `${uploads}?digest=sha256:${digestOf(whole)}`;
    const under = [
      ...places.map(({ base, upload }) => half(upload.method, base + upload.path, upload)),
      half("PATCH", location, { body: rest }),
      half("POST", monolithic, { body: whole }),
    ];
    await eventually(async () => (await spooled()).length === under.length, recoveryMs);
    await kill("http");
    for (const one of under) one.breakOff();
    await ready();

    await nothingOf(places);
    expect((await send("HEAD", `${image}/blobs/sha256:${digestOf(whole)}`)).status).to.equal(404);
    await sweep();
    expect(await blobFiles()).to.have.members([...kept, digestOf(chunk)]);

    await wholeOf(places);
    expect((await send("POST", monolithic, whole)).status).to.equal(201);
    const resumed = await send("GET", location);
    expect(resumed.headers.get("range")).to.equal(`0-${chunk.length - 1}`);
    expect((await send("PATCH", location, rest)).status).to.equal(202);
    const joined = Buffer.concat([chunk, rest]);
    const digest = `sha256:${digestOf(joined)}`;
    expect((await send("PUT", `${location}?digest=${digest}`)).status).to.equal(201);
    for (const content of [joined, whole])
      expect(await bytesAt(`${image}/blobs/sha256:${digestOf(content)}`)).to.deep.equal(content);
  });

  it("lists and leaves nothing of files that were being recorded", async () => {
    const places = await given("stored");
    const image = await imageGiven("stored");
    const [layer, empty] = [randomBytes(5_000), Buffer.from("{}")];
    for (const content of [layer, empty]) {
      const url = `${image}/blobs/uploads/?digest=sha256:${digestOf(content)}`;
      expect((await send("POST", url, content)).status).to.equal(201);
    }
    const manifest = manifestOf(empty, layer);
    const tag = () => send("PUT", `${image}/manifests/latest`, manifest, manifestType);
    await sweep();
    const kept = await blobFiles();
    // All that is left to do is to append what came: the store of events does not answer.
    process.kill(await service.pidOf("event-store"), "SIGSTOP");
    const under = [...places.map(({ base, upload }) => put(base, upload)), tag()];
    const broken = Promise.allSettled(under);
    await eventually(async () => (await held()) === under.length, recoveryMs);
    // What waits in its sockets must not be appended afterwards.
    await kill("http", "event-store");
    expect((await broken).map(({ status }) => status)).not.to.contain("fulfilled");
    await ready();

    await nothingOf(places);
    expect((await send("GET", `${image}/manifests/latest`)).status).to.equal(404);
    await sweep();
    expect(await blobFiles()).to.have.members(kept);

    await wholeOf(places);
    expect((await tag()).status).to.equal(201);
    expect(await bytesAt(`${image}/manifests/latest`)).to.deep.equal(manifest);
  });

  async function given(kind: string): Promise<readonly Place[]> {
    const types = Object.entries(packageUploads(randomBytes(20_000).toString("base64")));
    return Promise.all(
      types.map(async ([type, upload]) => {
        const id = await repository(type, kind);
        const base = `${service.url}/registry/project/admin/forge/repository/${type}-${kind}/`;
        const list = `${service.url}/project/admin/forge/repositories/${id}/package`;
        return { upload, base, list, index: await answerOf(base + upload.index) };
      }),
    );
  }

  async function imageGiven(kind: string): Promise<string> {
    await repository("container", kind);
    return `${service.url}/v2/admin/forge/container-${kind}/app`;
  }

  async function repository(packageType: string, kind: string): Promise<string> {
    const repositoryName = `${packageType}-${kind}`;
    const body = { type: "LOCAL", repositoryName, packageType };
    return String((await post("/project/admin/forge/repositories", body))["repositoryUuid"]);
  }

  async function nothingOf(places: readonly Place[]): Promise<void> {
    for (const { upload, base, list, index } of places) {
      const { page } = (await (await send("GET", list)).json()) as { page: object };
      expect(page, list).to.include({ totalElements: 0 });
      expect(await answerOf(base + upload.index)).to.deep.equal(index);
      expect((await send("GET", base + upload.file)).status, upload.file).to.equal(404);
    }
  }

  async function wholeOf(places: readonly Place[]): Promise<void> {
    for (const { upload, base } of places) {
      const answer = await put(base, upload);
      expect(answer.status, `${base} ${await answer.text()}`).to.be.within(200, 201);
      expect(await bytesAt(base + upload.file), base).to.deep.equal(upload.content);
    }
  }

  const put = (base: string, { method, path: at, body, type }: PackageUpload) =>
    send(method, base + at, body, type);

  function half(method: string, url: string, { body, type }: Partial<PackageUpload>) {
    const headers = { ...authorization(url), "content-type": type ?? "application/octet-stream" };
    return sendHalf({ method, url, headers }, body ?? Buffer.alloc(0));
  }

  /** Kills processes and waits until they are gone. */
  async function kill(...names: readonly string[]): Promise<void> {
    for (const name of names) {
      const pid = await eventually(() => service.pidOf(name), recoveryMs);
      process.kill(pid, "SIGKILL");
      const isOther = () => service.pidOf(name).then((now) => now !== pid);
      await eventually(isOther, recoveryMs);
    }
  }

  const ready = () =>
    eventually(async () => (await fetch(`${service.url}/health/ready`)).ok, recoveryMs);

  /** Runs the collection of garbage as it is a day later, when holds have ended. */
  async function sweep(): Promise<void> {
    const { dataDir, blobUrl, eventStoreUrl } = await config();
    await db("public.blob_hold").update({ held_until: new Date(0) });
    const store = openEventStore(eventStoreUrl);
    const blobs = await openBlobs({ dataDir, blobUrl }, db);
    const silent = () => undefined;
    const deps = {
      ...{ db, store, blobs, now: () => new Date(Date.now() + dayMs + dayMs / 12) },
      ...{ visible: async () => undefined, log: { info: silent, warn: silent, error: silent } },
    };
    try {
      const signal = new AbortController().signal;
      await blobCollectionWorker.runJob({}, deps as unknown as WorkerDeps, signal);
    } finally {
      await store.close();
    }
    expect(await spooled()).to.deep.equal([]);
    expect(await held()).to.equal(0);
  }

  const config = () => configOfRunning(readSettings({ DATA_DIR: service.dataDir }));
  const blobsAt = () => path.join(service.dataDir, "blobs");
  const spooled = () => readdir(path.join(blobsAt(), "temporary")).catch(() => []);
  const held = async () => Number((await db("public.blob_hold").count())[0]?.["count"]);

  async function blobFiles(): Promise<readonly string[]> {
    const names = await readdir(blobsAt(), { recursive: true }).catch(() => []);
    return names.map((name) => path.basename(name)).filter((name) => /^[0-9a-f]{64}$/.test(name));
  }

  /** As package managers sign in, or as the other operations want it. */
  const authorization = (url: string) => {
    const isNative = /^\/(?:registry|v2)\//.test(new URL(url).pathname);
    if (token !== undefined && !isNative) return { authorization: `token ${token}` };
    const password = token ?? adminPassword;
    return { authorization: basicAuth("admin", password) };
  };

  const send = (method: string, url: string, body?: Buffer, type = "application/octet-stream") =>
    fetch(url, {
      method,
      headers: { ...authorization(url), ...(body !== undefined && { "content-type": type }) },
      ...(body !== undefined && { body: new Uint8Array(body) }),
    });

  async function answerOf(url: string): Promise<unknown> {
    const answer = await send("GET", url);
    return [answer.status, await answer.text()];
  }

  async function bytesAt(url: string): Promise<Buffer> {
    const answer = await send("GET", url);
    expect(answer.status, url).to.equal(200);
    return Buffer.from(await answer.arrayBuffer());
  }

  async function post(at: string, body: object): Promise<Readonly<Record<string, unknown>>> {
    const answer = await send(
      "POST",
      service.url + at,
      Buffer.from(JSON.stringify(body)),
      "application/json",
    );
    const text = await answer.text();
    expect(answer.status, `${at}: ${text}`).to.be.within(200, 201);
    return JSON.parse(text) as Readonly<Record<string, unknown>>;
  }
});

const manifestType = "application/vnd.oci.image.manifest.v1+json";

function manifestOf(config: Buffer, layer: Buffer): Buffer {
  const descriptor = (content: Buffer, mediaType: string) => ({
    ...{ mediaType, size: content.length },
    digest: `sha256:${digestOf(content)}`,
  });
  return Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: manifestType,
      config: descriptor(config, "application/vnd.oci.image.config.v1+json"),
      layers: [descriptor(layer, "application/vnd.oci.image.layer.v1.tar+gzip")],
    }),
  );
}
