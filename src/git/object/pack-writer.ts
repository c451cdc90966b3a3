import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { deflate } from "node:zlib";
import type { Repository } from "../repository.ts";
import { runGit } from "../run.ts";
import type { ObjectType } from "./object.ts";

const compress = promisify(deflate);

/** An object that is not in a repository yet, and the id it will have. */
export type NewObject = Readonly<{ id: string; type: ObjectType; data: Buffer }>;

/** Numbers of the types in a pack; gitformat-pack(5). */
const typeNumbers = { commit: 1, tree: 2, blob: 3, tag: 4 } as const satisfies Record<
  ObjectType,
  number
>;

/** As git: more objects stay together in the pack they came in (receive.unpackLimit). */
const looseMax = 100;

export function newObject(type: ObjectType, content: string | Buffer): NewObject {
  const data = Buffer.from(content);
  const id = createHash("sha1").update(`${type} ${data.length}\0`).update(data).digest("hex");
  return { id, type, data };
}

/**
 * Puts objects into a repository by one process, checked as those of a push are: their form, what
 * they refer to, names and contents that attack a client. All of them or none.
 *
 * @throws GitFailure with git's own words when an object is refused
 */
export async function writeObjects(
  { gitDir }: Pick<Repository, "gitDir">,
  objects: readonly NewObject[],
): Promise<void> {
  const input = await packOf(objects);
  const command =
    objects.length <= looseMax
      ? (["unpack-objects", "-q", "--strict"] as const)
      : (["index-pack", "--stdin", "--strict"] as const);
  await runGit(gitDir, command, { input, writes: true });
}

/** A pack of whole objects; gitformat-pack(5), version 2. */
async function packOf(objects: readonly NewObject[]): Promise<Buffer> {
  const header = Buffer.from("PACK\0\0\0\x02\0\0\0\0", "latin1");
  header.writeUInt32BE(objects.length, 8);
  const parts: Buffer[] = [header];
  for (const { type, data } of objects) {
    parts.push(entryHeader(typeNumbers[type], data.length), await compress(data));
  }
  const body = Buffer.concat(parts);
  return Buffer.concat([body, createHash("sha1").update(body).digest()]);
}

/** Type and size: four bits of the size in the first byte, seven in each that follows. */
function entryHeader(type: number, bytes: number): Buffer {
  const header: number[] = [];
  let byte = (type << 4) | (bytes & 0x0f);
  for (let left = Math.floor(bytes / 16); left > 0; left = Math.floor(left / 128)) {
    header.push(byte | 0x80);
    byte = left & 0x7f;
  }
  return Buffer.from([...header, byte]);
}
