import { createHash, createPublicKey, verify } from "node:crypto";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";
import { logKeyOf } from "../../../src/platform/key/log-key.ts";
import { leafOf } from "../../../src/projections/audit/log-tree.ts";
import { provesConsistency, provesInclusion } from "../../../src/projections/audit/merkle.ts";
import { startTestApp, type TestUser } from "../../support/app/app.ts";
import { runCli } from "../../support/process/cli.ts";

const app = await startTestApp();

let anna: TestUser;
before(async () => {
  anna = await app.givenUser("anna");
  await app.givenProject(anna, "search");
});

type Head = Readonly<{
  size: number;
  rootHash: string;
  timestamp: string;
  signature: string;
  checkpoint: string;
}>;

const buffer = (text: unknown): Buffer => Buffer.from(String(text), "base64");
const buffers = (list: unknown): Buffer[] => (list as string[]).map(buffer);

async function get(at: string) {
  const { status, body, text } = await app.get(at, { token: anna.token });
  expect(status, text).to.equal(200);
  return body;
}

const head = async () => (await get("/log/head")) as unknown as Head;
const tree = ({ size, rootHash }: Head) => ({ size: BigInt(size), root: buffer(rootHash) });

describe("the proofs of the log", () => {
  it("has a head that the instance's key signed, as a signed note", async () => {
    const key = await get("/log/key");
    const { checkpoint, signature, size, rootHash } = await head();
    const spki = Buffer.concat([
      Buffer.from("302a300506032b6570032100", "hex"),
      buffer(key["publicKey"]),
    ]);
    const publicKey = createPublicKey({ key: spki, format: "der", type: "spki" });
    const [text = "", signed = ""] = checkpoint.split("\n\n");
    expect(verify(null, Buffer.from(`${text}\n`), publicKey, buffer(signature))).to.equal(true);
    expect(text.split("\n").slice(0, 3)).to.deep.equal([key["origin"], String(size), rootHash]);
    const box = buffer(signed.trim().split(" ")[2]);
    expect(box.subarray(0, 4).equals(buffer(key["keyId"]))).to.equal(true);
    expect(box.subarray(4).equals(buffer(signature))).to.equal(true);
  });

  it("proves every event of the log", async () => {
    const { size, root } = tree(await head());
    let leaf = 0n;
    for await (const event of app.platform.store.readAll()) {
      const proof = await get(`/log/proof?position=${event.position}`);
      const hash = leafOf(event);
      expect(buffer(proof["leafHash"]).equals(hash)).to.equal(true);
      expect(provesInclusion({ leaf, size, hash, root }, buffers(proof["hashes"]))).to.equal(true);
      leaf += 1n;
    }
    expect(leaf).to.equal(size);
  });

  it("proves that the log has only grown", async () => {
    const earlier = tree(await head());
    await app.givenProject(anna, "more");
    const later = tree(await head());
    const { hashes } = await get(`/log/consistency?from=${earlier.size}&to=${later.size}`);
    expect(provesConsistency(earlier, later, buffers(hashes))).to.equal(true);
    expect(later.size > earlier.size).to.equal(true);
  });

  it("refuses what the log does not have", async () => {
    const { token } = anna;
    const status = async (at: string) => (await app.get(at, { token })).status;
    expect(await status("/log/proof?position=999999")).to.equal(404);
    expect(await status("/log/proof?position=1&size=0")).to.equal(422);
    expect(await status("/log/consistency?from=1&to=999999")).to.equal(422);
    expect(await status("/log/consistency?from=3&to=2")).to.equal(422);
    expect((await app.get("/log/head")).status).to.equal(403);
  });

  it("is verified by the program against a head kept in a file", async () => {
    const kept = await head();
    await app.givenProject(anna, "later");
    const file = path.join(app.dataDir, "head.json");
    await writeFile(file, JSON.stringify(kept));
    const good = await runCli(app, "audit", "verify", "--head", file);
    expect(good.out).to.match(new RegExp(`^The first ${kept.size} events are those`));
    expect(good.code).to.equal(0);

    await writeFile(file, JSON.stringify({ ...kept, size: kept.size - 1 }));
    const changed = await runCli(app, "audit", "verify", "--head", file);
    expect([changed.code, changed.out]).to.deep.equal([
      1,
      "The head was not signed by this instance, or was changed since.\n",
    ]);
    await writeFile(file, JSON.stringify(kept).slice(0, -9));
    const cut = await runCli(app, "audit", "verify", "--head", file);
    expect([cut.code, cut.out]).to.deep.equal([
      78,
      `${file} does not hold an answer of /log/head.\n`,
    ]);
    const absent = await runCli(app, "audit", "verify", "--head", `${file}.none`);
    expect([absent.code, absent.out]).to.deep.equal([
      78,
      `${file}.none cannot be read (ENOENT).\n`,
    ]);
  });

  it("names the place where the log is not what a head was signed for, if the chain shows it", async () => {
    const kept = await head();
    const root = createHash("sha256").update("another log").digest();
    const [size, timestamp] = [BigInt(kept.size), "2026-01-02T03:04:05.000Z"];
    const origin = kept.checkpoint.split("\n", 1)[0] ?? "";
    const signature = logKeyOf(app.deps.vault, origin).signature({ size, root, timestamp });
    const other = { ...kept, timestamp, rootHash: root.toString("base64") };
    const file = path.join(app.dataDir, "other-head.json");
    await writeFile(file, JSON.stringify({ ...other, signature: signature.toString("base64") }));
    const verified = () => runCli(app, "audit", "verify", "--head", file);
    const same = await verified();
    expect(same.code, same.out).to.equal(1);
    expect(same.out)
      .to.include("is not what the head of 2026-01-02T03:04:05.000Z was signed for")
      .and.to.include("they do not show where it differs")
      .and.to.include("a log that parted from this one");

    const entry = await app.deps.db("audit_entry").where({ type: "ProjectCreated" }).first();
    const changed = app.deps.db("audit_entry").where({ position: entry.position });
    const chain = await app.deps.db("log_chain_head").first();
    await changed.clone().update({ digest: root });
    await app.deps.db("log_chain_head").update({ chain: root });
    const found = await verified();
    await app.deps.db("log_chain_head").update({ chain: chain.chain });
    await changed.clone().update({ digest: entry.digest });
    expect(found.code, found.out).to.equal(1);
    expect(found.out).to.include(
      `ProjectCreated at ${entry.position} in ${entry.stream} was changed`,
    );
  });
});
