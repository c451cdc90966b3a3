import type { PrivateKey } from "openpgp";

/** Taken by every client that is kept up; larger ones take seconds to make. NIST SP 800-57: past 2030. */
const rsaBits = 3_072;

/** Armored keys without a passphrase; the fingerprint in hex. */
export type SigningKey = Readonly<{ publicKey: string; privateKey: string; fingerprint: string }>;

/** Loaded when something is signed: it is large, and most instances never sign. */
const openpgp = () => import("openpgp");

/**
 * Makes an OpenPGP key that signs and certifies: RSA, because clients of older systems verify nothing else.
 *
 * @param createdAt before anything that it signs
 */
export async function makeSigningKey(name: string, createdAt: Date): Promise<SigningKey> {
  const { generateKey } = await openpgp();
  const { privateKey, publicKey } = await generateKey({
    type: "rsa",
    rsaBits,
    userIDs: [{ name }],
    subkeys: [],
    date: createdAt,
    format: "object",
  });
  return {
    publicKey: publicKey.armor(),
    privateKey: privateKey.armor(),
    fingerprint: publicKey.getFingerprint(),
  };
}

/** Signs texts, the same text at the same date always with the same bytes. */
export type Signer = Readonly<{
  /** RFC 9580, 7: the text with its signature around it. */
  clear: (text: string, at: Date) => Promise<string>;
  /** The armored signature alone. */
  detached: (content: Buffer, at: Date) => Promise<string>;
}>;

export async function signerOf(armored: string): Promise<Signer> {
  const { readPrivateKey, createCleartextMessage, createMessage, sign, enums } = await openpgp();
  const signingKeys: PrivateKey = await readPrivateKey({ armoredKey: armored });
  const config = {
    preferredHashAlgorithm: enums.hash.sha512,
    nonDeterministicSignaturesViaNotation: false,
  };
  return {
    clear: async (text, date) => {
      const message = await createCleartextMessage({ text });
      const signed = await sign({ message, signingKeys, date, config });
      // The lines are signed with CRLF, and are shown as they came.
      return signed.replaceAll("\r\n", "\n");
    },
    detached: async (content, date) => {
      const message = await createMessage({ binary: new Uint8Array(content) });
      return sign({ message, signingKeys, date, config, detached: true });
    },
  };
}
