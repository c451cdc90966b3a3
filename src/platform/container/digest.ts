import { hash } from "node:crypto";

/** Algorithms of OCI image-spec, descriptor.md, "Registered algorithms". */
export type DigestAlgorithm = "sha256" | "sha512";

export type ContentDigest = Readonly<{
  /** `sha256:…` as it is written in paths and manifests. */
  text: string;
  algorithm: DigestAlgorithm;
  /** Lower case hex. */
  hex: string;
}>;

const form = /^(?:(?<short>sha256):(?<a>[0-9a-f]{64})|(?<long>sha512):(?<b>[0-9a-f]{128}))$/;

/** @returns undefined when the text is no digest of a known algorithm */
export function readDigest(text: string): ContentDigest | undefined {
  const groups = form.exec(text)?.groups;
  if (groups === undefined) return undefined;
  const algorithm = groups["short"] === undefined ? "sha512" : "sha256";
  return { text, algorithm, hex: groups["a"] ?? groups["b"] ?? "" };
}

/** The digest of these bytes, as text. */
export function digestOf(bytes: Buffer, algorithm: DigestAlgorithm): string {
  return `${algorithm}:${hash(algorithm, bytes)}`;
}
