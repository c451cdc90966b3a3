import { createHash, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import path from "node:path";

/** Message numbers of the agent protocol: draft-miller-ssh-agent. */
const [identitiesRequest, identitiesAnswer, signRequest, signAnswer, failure] = [11, 12, 13, 14, 5];
const application = Buffer.from("ssh:");
const userPresent = 1;

export type Device = Readonly<{
  /** For IdentityAgent of ssh. */
  socket: string;
  /** `type base64`, as a user registers it. */
  line: string;
  /** Whether the next signature states that the user touched the device. */
  touched: { yes: boolean };
}>;

const text = (bytes: Buffer | string): Buffer => {
  const body = Buffer.from(bytes);
  const head = Buffer.alloc(4);
  head.writeUInt32BE(body.length);
  return Buffer.concat([head, body]);
};

const digest = (bytes: Buffer): Buffer => createHash("sha256").update(bytes).digest();

/** A security device in software, behind a socket of an SSH agent, for the real ssh to log in with. */
export async function virtualDevice(directory: string, kind: "ed25519" | "ecdsa"): Promise<Device> {
  const { type, blob, signBytes } = kind === "ed25519" ? ed25519() : ecdsa();
  const touched = { yes: true };
  let counter = 0;
  const answer = (request: Buffer): Buffer => {
    if (request[0] === identitiesRequest) {
      const one = Buffer.from([0, 0, 0, 1]);
      return Buffer.concat([Buffer.from([identitiesAnswer]), one, text(blob), text("device")]);
    }
    if (request[0] !== signRequest) return Buffer.from([failure]);
    const keyEnd = 5 + request.readUInt32BE(1);
    const message = request.subarray(keyEnd + 4, keyEnd + 4 + request.readUInt32BE(keyEnd));
    counter += 1;
    const tail = Buffer.from([touched.yes ? userPresent : 0, 0, 0, 0, counter]);
    const signed = Buffer.concat([digest(application), tail, digest(message)]);
    const signature = Buffer.concat([text(type), text(signBytes(signed)), tail]);
    return Buffer.concat([Buffer.from([signAnswer]), text(signature)]);
  };
  const socket = path.join(directory, `${kind}.agent`);
  const server = createServer((client) => serve(client, answer)).listen(socket);
  await once(server, "listening");
  after(() => void server.close());
  const line = `${type} ${blob.toString("base64")}`;
  await writeFile(path.join(directory, `${kind}-device.pub`), line);
  return { socket, line, touched };
}

function serve(client: Socket, answer: (request: Buffer) => Buffer): void {
  let unread = Buffer.alloc(0);
  client.on("error", () => undefined);
  client.on("data", (chunk: Buffer) => {
    unread = Buffer.concat([unread, chunk]);
    while (unread.length >= 4 && unread.length >= 4 + unread.readUInt32BE(0)) {
      const end = 4 + unread.readUInt32BE(0);
      client.write(text(answer(unread.subarray(4, end))));
      unread = unread.subarray(end);
    }
  });
}

function ed25519() {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const type = "sk-ssh-ed25519@openssh.com";
  const point = Buffer.from(publicKey.export({ format: "jwk" }).x ?? "", "base64url");
  const blob = Buffer.concat([text(type), text(point), text(application)]);
  return { type, blob, signBytes: (bytes: Buffer) => sign(null, bytes, privateKey) };
}

function ecdsa() {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const type = "sk-ecdsa-sha2-nistp256@openssh.com";
  const { x = "", y = "" } = publicKey.export({ format: "jwk" });
  const coordinates = [x, y].map((value) => Buffer.from(value, "base64url"));
  const point = Buffer.concat([Buffer.from([4]), ...coordinates]);
  const blob = Buffer.concat([text(type), text("nistp256"), text(point), text(application)]);
  return { type, blob, signBytes: (bytes: Buffer) => ecdsaSignature(bytes, privateKey) };
}

function ecdsaSignature(bytes: Buffer, key: KeyObject): Buffer {
  const raw = sign("sha256", bytes, { key, dsaEncoding: "ieee-p1363" });
  return Buffer.concat(
    [raw.subarray(0, 32), raw.subarray(32)].map((number) => text(mpint(number))),
  );
}

/** RFC 4251 §5: shortest, and never negative. */
function mpint(number: Buffer): Buffer {
  const short = number.subarray(number.findIndex((byte) => byte !== 0));
  return (short[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), short]) : short;
}
