import { expect } from "chai";

import { readGpgStatus, sshSignerOf } from "../../../src/git/signature/signature.ts";

const fingerprint = "A".repeat(40);
const lines = (...status: readonly string[]) => status.map((line) => `[GNUPG:] ${line}`).join("\n");

describe("what gpg says of a signature", () => {
  for (const [status, exitCode, expected] of [
    [
      lines("GOODSIG AB Anna", `VALIDSIG ${fingerprint} x`),
      0,
      { kind: "good", keyId: fingerprint },
    ],
    [
      lines("EXPKEYSIG AB Anna", `VALIDSIG ${fingerprint} x`),
      0,
      { kind: "expired", keyId: fingerprint },
    ],
    [
      lines("REVKEYSIG AB Anna", `VALIDSIG ${fingerprint} x`),
      0,
      { kind: "revoked", keyId: fingerprint },
    ],
    [
      lines("EXPSIG AB Anna", `VALIDSIG ${fingerprint} x`),
      0,
      { kind: "expired", keyId: fingerprint },
    ],
    [lines("ERRSIG AB 22 8 00", "NO_PUBKEY AB"), 1, { kind: "unknown_key", keyId: "AB" }],
    [lines("BADSIG AB Anna"), 1, { kind: "bad", keyId: "AB" }],
    [
      "error: cannot run gpg: No such file or directory",
      1,
      { kind: "unsupported", program: "gpg" },
    ],
    ["", 1, { kind: "bad", keyId: "" }],
    // What git ended with counts as well.
    [lines("GOODSIG AB Anna"), 1, { kind: "bad", keyId: "AB" }],
    // Only lines that gpg marks are its own.
    ["GOODSIG AB Anna", 0, { kind: "bad", keyId: "" }],
    ["x GOODSIG AB Anna", 0, { kind: "bad", keyId: "" }],
    // A name that looks like a status is in the middle of a line.
    [lines("BADSIG AB Anna [GNUPG:] GOODSIG"), 0, { kind: "bad", keyId: "AB" }],
  ] as const) {
    it(`is ${expected.kind}: ${status.slice(0, 40).replaceAll("\n", " ")} (${exitCode})`, () => {
      expect(readGpgStatus(status, exitCode)).to.deep.equal(expected);
    });
  }
});

describe("the key that a signature of SSH names", () => {
  const armour = (bytes: Buffer) =>
    `-----BEGIN SSH SIGNATURE-----\n${bytes.toString("base64")}\n-----END SSH SIGNATURE-----`;

  for (const [what, bytes] of [
    ["nothing", Buffer.alloc(0)],
    ["something else", Buffer.from("PGPSIG and more of it")],
    ["the mark alone", Buffer.from("SSHSIG\0\0\0\u0001\0")],
    [
      "a length beyond the end",
      Buffer.from("SSHSIG\0\0\0\u0001\u007f\u007f\u007f\u007f", "latin1"),
    ],
    ["zeros", Buffer.concat([Buffer.from("SSHSIG"), Buffer.alloc(64)])],
  ] as const) {
    it(`is none when there is ${what}`, () => {
      expect(sshSignerOf(armour(bytes))).to.equal(undefined);
    });
  }

  it("is none of a signature of another kind", () => {
    expect(sshSignerOf("-----BEGIN PGP SIGNATURE-----\n\nAAAA\n")).to.equal(undefined);
  });
});
