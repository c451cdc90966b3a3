import { z } from "zod";
import { logKey, signedNote } from "../../../platform/key/log-key.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { findLeaf, rangeHashes, wholeTree } from "../../../projections/audit/log-tree.ts";
import {
  consistencyPath,
  inclusionPath,
  type Range,
  rangeHash,
  rangeOf,
} from "../../../projections/audit/merkle.ts";
import { type Route, route } from "../../core/route.ts";
import { int, invalid } from "../../core/schema.ts";
import { Position } from "../audit/query.ts";

const shared = { method: "get", tag: "Log", scope: "none", access: "user" } as const;

const Base64 = z.string().meta({ examples: ["47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="] });
const Size = int({ min: 0, max: Number.MAX_SAFE_INTEGER });

const TreeHead = z
  .object({
    size: z.int().meta({ description: "Events in the tree." }),
    rootHash: Base64,
    timestamp: z.iso.datetime({ precision: 3 }),
    keyId: Base64.meta({ description: "Of the signed note: 4 bytes." }),
    signature: Base64.meta({ description: "Ed25519 over the text of the checkpoint." }),
    checkpoint: z.string().meta({ description: "The same as a signed note (C2SP)." }),
  })
  .meta({ id: "TreeHead" });

const getHead = route({
  ...shared,
  path: "/log/head",
  operationId: "getLogHead",
  summary: "Get the signed head of the Merkle tree over the log",
  description: "Kept elsewhere, it proves later that nothing before it was changed (RFC 9162).",
  reply: TreeHead,
  async handle(_input, { db, vault, publicUrl, now }) {
    const { size, root } = await wholeTree(db);
    const made = { size, root, timestamp: now().toISOString() };
    const key = logKey(vault, publicUrl);
    const signature = key.signature(made);
    return {
      size: Number(size),
      rootHash: root.toString("base64"),
      timestamp: made.timestamp,
      keyId: key.keyId.toString("base64"),
      signature: signature.toString("base64"),
      checkpoint: signedNote(key, made, signature),
    };
  },
});

const getKey = route({
  ...shared,
  path: "/log/key",
  operationId: "getLogKey",
  summary: "Get the public key that heads of the log are signed with",
  reply: z
    .object({
      keyId: Base64,
      origin: z.string().meta({ examples: ["forge.example.org/log"] }),
      algorithm: z.literal("Ed25519"),
      publicKey: Base64,
    })
    .meta({ id: "LogKey" }),
  async handle(_input, { vault, publicUrl }) {
    const { keyId, origin, publicKey } = logKey(vault, publicUrl);
    const text = { keyId: keyId.toString("base64"), publicKey: publicKey.toString("base64") };
    return { ...text, origin, algorithm: "Ed25519" as const };
  },
});

const getProof = route({
  ...shared,
  path: "/log/proof",
  operationId: "getLogProof",
  summary: "Get the proof that an event is in the log",
  description:
    "RFC 9162, 2.1.3. `leafHash` is SHA-256 of a zero byte and the digest of the event; see docs/api/audit.md.",
  query: z.object({
    position: Position.meta({ examples: ["1"] }),
    size: Size.optional().meta({ description: "Of the tree; the whole one when not given." }),
  }),
  reply: z
    .object({ leafIndex: z.int(), leafHash: Base64, size: z.int(), hashes: z.array(Base64) })
    .meta({ id: "InclusionProof" }),
  errors: [404],
  async handle({ query }, { db }) {
    const requested = query.size === undefined ? undefined : BigInt(query.size);
    const { index, hashOf, ...whole } = await findLeaf(db, BigInt(query.position), requested);
    const size = sizeIn(whole.size, "size", requested);
    if (index === undefined) {
      throw new Refusal("not_found", "log.not_found", "No event has this position.");
    }
    if (index >= size) throw wrongSize("size", "The event is not in a tree of this size.");
    const hashText = (range: Range): string => rangeHash(range, hashOf).toString("base64");
    const hashes = inclusionPath(index, size).map(hashText);
    const leafHash = hashText(rangeOf(index, 1n));
    return { leafIndex: Number(index), leafHash, size: Number(size), hashes };
  },
});

const getConsistency = route({
  ...shared,
  path: "/log/consistency",
  operationId: "getLogConsistency",
  summary: "Get the proof that the log has only grown between two heads",
  description: "RFC 9162, 2.1.4.",
  query: z.object({
    from: Size.meta({ description: "Size of the earlier tree.", examples: [1] }),
    to: Size.optional().meta({ description: "Of the later one; the whole one when not given." }),
  }),
  reply: z
    .object({ from: z.int(), to: z.int(), hashes: z.array(Base64) })
    .meta({ id: "ConsistencyProof" }),
  async handle({ query }, { db }) {
    const from = BigInt(query.from);
    const requested = query.to === undefined ? undefined : BigInt(query.to);
    const { size, hashes } = await rangeHashes(db, (whole) => {
      const to = sizeIn(whole, "to", requested);
      if (from > to) throw wrongSize("from", "The earlier tree is larger than the later one.");
      return consistencyPath(from, to);
    });
    const texts = hashes.map((hash) => hash.toString("base64"));
    return { from: query.from, to: Number(requested ?? size), hashes: texts };
  },
});

/** @throws Refusal 422 when the log has fewer events */
function sizeIn(size: bigint, field: string, requested: bigint | undefined): bigint {
  if (requested === undefined) return size;
  if (requested > size) throw wrongSize(field, `The log has ${size} events.`);
  return requested;
}

const wrongSize = (field: string, message: string): Refusal =>
  invalid([{ field, code: "log.size", message }]);

export const proofRoutes: readonly Route[] = [getConsistency, getHead, getKey, getProof];
