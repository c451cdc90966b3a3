import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { parseSshPublicKey } from "../../../src/platform/key/ssh-key.ts";
import { Refusal } from "../../../src/platform/refusal.ts";
import { needsProgram } from "../../support/process/program.ts";

const run = promisify(execFile);

/** A string of RFC 4251. */
function packed(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

const lineOf = (type: string, ...fields: readonly (string | Buffer)[]) =>
  `${type} ${Buffer.concat([packed(type), ...fields.map(packed)]).toString("base64")}`;

function fieldsOf(line: string): Buffer[] {
  const blob = Buffer.from(line.split(" ")[1]!, "base64");
  const fields = [];
  for (let at = 0; at < blob.length; at += 4 + blob.readUInt32BE(at)) {
    fields.push(blob.subarray(at + 4, at + 4 + blob.readUInt32BE(at)));
  }
  return fields;
}

function refusalOf(text: string): string {
  try {
    parseSshPublicKey(text);
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
  return "accepted";
}

describe("an SSH public key", () => {
  needsProgram("ssh-keygen");
  let folder = "";
  const keys = new Map<string, string>();

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "ledgerforge-keys-"));
    const kinds = ["ed25519", "ecdsa-256", "ecdsa-384", "ecdsa-521", "rsa-2048", "rsa-1024"];
    for (const kind of kinds) {
      const [type = "", bits] = kind.split("-");
      const file = path.join(folder, kind);
      const size = bits === undefined ? [] : ["-b", bits];
      await run("ssh-keygen", [
        "-q",
        "-t",
        type,
        ...size,
        "-N",
        "",
        "-C",
        "anna@laptop",
        "-f",
        file,
      ]);
      keys.set(kind, (await readFile(`${file}.pub`, "utf8")).trim());
    }
    const point = fieldsOf(keys.get("ecdsa-256")!)[2]!;
    const raw = fieldsOf(keys.get("ed25519")!)[1]!;
    const device = (type: string, ...fields: Buffer[]) => lineOf(type, ...fields, "ssh:");
    keys.set("sk-ed25519", device("sk-ssh-ed25519@openssh.com", raw));
    const ecdsa = "sk-ecdsa-sha2-nistp256@openssh.com";
    keys.set("sk-ecdsa", device(ecdsa, Buffer.from("nistp256"), point));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const accepted = ["ed25519", "ecdsa-256", "ecdsa-384", "ecdsa-521", "rsa-2048"];
  for (const kind of [...accepted, "sk-ed25519", "sk-ecdsa"]) {
    it(`of the kind ${kind} has the fingerprint ssh-keygen finds, and loses its comment`, async () => {
      const file = path.join(folder, `${kind}.check`);
      await writeFile(file, `${keys.get(kind)}\n`);
      const { stdout } = await run("ssh-keygen", ["-l", "-f", file]);
      const { line, fingerprint } = parseSshPublicKey(`  ${keys.get(kind)}\r\n`);
      expect(fingerprint).to.equal(stdout.split(" ")[1]);
      expect(line).to.equal(keys.get(kind)!.split(" ").slice(0, 2).join(" "));
    });
  }

  it("is refused when it is too weak", () => {
    expect(refusalOf(keys.get("rsa-1024")!)).to.equal("ssh_key.weak");
    const modulus = fieldsOf(keys.get("rsa-2048")!)[2]!;
    expect(refusalOf(lineOf("ssh-rsa", Buffer.from([1]), modulus))).to.equal("ssh_key.weak");
  });

  it("is refused when it is of another kind, or none", () => {
    const ed25519 = keys.get("ed25519")!;
    const [, blob = ""] = ed25519.split(" ");
    for (const text of [
      "",
      "ssh-ed25519",
      "ssh-ed25519 AAAA",
      "ssh-ed25519 !!!!",
      `ssh-rsa ${blob}`,
      `command="sh" ${ed25519}`,
      `ssh-ed25519 ${blob.slice(0, -4)}`,
      `ssh-ed25519 ${blob}====`,
      `${ed25519}\n${ed25519}`,
      lineOf("ssh-dss", "a", "b"),
      lineOf("ssh-ed25519-cert-v01@openssh.com", "a", "b"),
      lineOf("constructor", "a"),
      "-----BEGIN OPENSSH PRIVATE KEY-----",
      `ssh-ed25519 ${"A".repeat(20_000)}`,
    ]) {
      expect(refusalOf(text), text.slice(0, 60)).to.equal("ssh_key.invalid");
    }
  });

  it("is refused when something hides in it", () => {
    const raw = fieldsOf(keys.get("ed25519")!)[1]!;
    const [, curve, point] = fieldsOf(keys.get("ecdsa-256")!);
    const [, exponent, modulus] = fieldsOf(keys.get("rsa-2048")!);
    const off = Buffer.from(point!);
    off[off.length - 1]! ^= 1;
    // Both coordinates follow, as 4 says, but the form is that of one.
    const compressed = Buffer.from(point!);
    compressed[0] = 2;
    for (const line of [
      lineOf("ssh-ed25519", raw, "more"),
      lineOf("ssh-ed25519", raw.subarray(1)),
      lineOf("ecdsa-sha2-nistp256", curve!, off),
      lineOf("ecdsa-sha2-nistp256", curve!, compressed),
      lineOf("ecdsa-sha2-nistp256", "nistp384", point!),
      lineOf("ecdsa-sha2-nistp384", curve!, point!),
      lineOf("ssh-rsa", exponent!, Buffer.concat([Buffer.from([0]), modulus!])),
      lineOf("ssh-rsa", exponent!, modulus!.subarray(1)),
      lineOf("ssh-rsa", exponent!),
    ]) {
      expect(refusalOf(line), line.slice(0, 40)).to.match(/^ssh_key\./);
    }
  });
});
