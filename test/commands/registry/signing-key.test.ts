import { registrySigningKey } from "../../../src/commands/registry/signing-key.ts";
import { RegistryRepositoryId } from "../../../src/events/core/ids.ts";
import { Sealed } from "../../../src/events/core/sealed.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

const given = specify(registrySigningKey);
const keyOf = (fingerprint: string) => ({
  repositoryId: RegistryRepositoryId.parse("7b5a6f5e-4d3c-4b2a-9f1e-0d9c8b7a6958"),
  fingerprint,
  publicKey: "public",
  privateKey: Sealed.parse("sealed.project-1.AAAA"),
  createdAt: at,
});
const creating = (fingerprint: string) =>
  ({ type: "CreateRegistrySigningKey", key: keyOf(fingerprint) }) as const;
const created = (fingerprint: string) =>
  ({ type: "RegistrySigningKeyCreated", data: keyOf(fingerprint) }) as const;

describe("the signing key of a repository", () => {
  it("is made once", () => {
    given().when(creating("aa")).gives(created("aa"));
    given(created("aa")).when(creating("bb")).givesNothing();
  });
});
