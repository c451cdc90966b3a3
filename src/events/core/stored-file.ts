import { z } from "zod";

const hex = (digits: number) => z.string().regex(new RegExp(`^[0-9a-f]{${digits}}$`));

/** A file with a name whose content is the blob of its SHA-256. */
export const StoredFile = z.object({
  name: z.string().min(1),
  bytes: z.int().nonnegative(),
  md5: hex(32),
  sha1: hex(40),
  sha256: hex(64),
  sha512: hex(128),
});
export type StoredFile = Readonly<z.output<typeof StoredFile>>;
