import { createPublicKey, verify } from "node:crypto";
import { expect } from "chai";
import { leafOf } from "../../../../src/projections/audit/log-tree.ts";
import { startTestApp, type TestUser } from "../../../support/app/app.ts";
import { headOf, type LogHead } from "../../../support/client/log-head.ts";
import { provesConsistency, provesInclusion } from "../../../support/client/log-proof.ts";

const app = await startTestApp();

let anna: TestUser;
before(async () => {
  anna = await app.givenUser("anna");
  await app.givenProject(anna, "search");
});

const buffer = (text: unknown): Buffer => Buffer.from(String(text), "base64");
const buffers = (list: unknown): Buffer[] => (list as string[]).map(buffer);

async function get(at: string) {
  const { status, body, text } = await app.get(at, { token: anna.token });
  expect(status, text).to.equal(200);
  return body;
}

const head = () => headOf(app, anna);
const tree = ({ size, rootHash }: LogHead) => ({ size: BigInt(size), root: buffer(rootHash) });

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
});
