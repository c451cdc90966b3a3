import { type ReadManifest, readManifest } from "./manifest.ts";

export type ManifestQuestion = Readonly<{ bytes: Uint8Array; contentType: string }>;

/** Each wrong entry of a long list is described. */
export const run = ({ bytes, contentType }: ManifestQuestion): ReadManifest =>
  readManifest(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), contentType);
