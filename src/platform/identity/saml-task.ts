import { type SamlIdentity, type SamlParties, SamlRefused, verifySamlResponse } from "./saml.ts";
import { samlSsoUrl } from "./saml-xml.ts";

export type SamlQuestion =
  | Readonly<{ kind: "response"; parties: SamlParties; response: string; now: Date }>
  | Readonly<{ kind: "metadata"; metadata: string; issuer: string }>;

export type SamlAnswer =
  | Readonly<{ identity: SamlIdentity }>
  | Readonly<{ ssoUrl: string }>
  | Readonly<{ refused: string }>;

/** XML of strangers is parsed, and their signatures are checked. */
export async function run(question: SamlQuestion): Promise<SamlAnswer> {
  try {
    if (question.kind === "metadata") {
      return { ssoUrl: samlSsoUrl(question.metadata, question.issuer) };
    }
    const { parties, response, now } = question;
    return { identity: await verifySamlResponse(parties, response, now) };
  } catch (error) {
    if (error instanceof SamlRefused) return { refused: error.message };
    throw error;
  }
}
