import { expect } from "chai";
import { parseGpgPublicKey } from "../../../src/git/signature/gpg-key.ts";
import { asCaller } from "../../../src/platform/caller.ts";
import { limitFigures } from "../../../src/platform/limit.ts";
import { Refusal } from "../../../src/platform/refusal.ts";

const none = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nAAAA\n-----END PGP PUBLIC KEY BLOCK-----";

const codeOf = (caller: string): Promise<unknown> =>
  asCaller(caller, () => parseGpgPublicKey(none)).catch((error: unknown) =>
    error instanceof Refusal ? error.code : error,
  );

const inUse = () => limitFigures().find(({ name }) => name === "gpg.keys")?.inUse;

describe("reading GPG keys", () => {
  it("has one gpg at a time for a caller, and does not keep another one waiting", async () => {
    let left = 30;
    const all = Promise.all(
      Array.from({ length: 30 }, () => codeOf("anna").finally(() => (left -= 1))),
    );
    expect(inUse()).to.equal(1);
    expect(await codeOf("bob")).to.equal("gpg_key.invalid");
    expect(left).to.be.greaterThan(5);
    const codes = await all;
    expect(codes.filter((code) => code === "gpg_key.invalid")).to.have.length(17);
    expect(codes.filter((code) => code === "service.busy")).to.have.length(13);
    expect(inUse()).to.equal(0);
  });
});
