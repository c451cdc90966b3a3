import { invariant } from "../invariant.ts";
import { ParserTask } from "../parser/parser.ts";
import { TooComplex } from "../parser/refusal.ts";
import type { SamlIdentity, SamlParties } from "./saml.ts";
import type { SamlAnswer, SamlQuestion } from "./saml-task.ts";
import { SamlRefused } from "./saml-xml.ts";

const task = new ParserTask<SamlQuestion, SamlAnswer>({
  module: "platform/identity/saml-task",
  timeoutMs: 5_000,
  mebibytesMax: 256,
});

/** `verifySamlResponse` in a process. @throws SamlRefused, ParserBusy */
export async function readSamlResponse(
  parties: SamlParties,
  response: string,
  now: Date,
): Promise<SamlIdentity> {
  const answer = await answerOf({ kind: "response", parties, response, now });
  invariant("identity" in answer, "an identity was requested");
  return answer.identity;
}

/** `samlSsoUrl` in a process. @throws SamlRefused, ParserBusy */
export async function readSamlSsoUrl(metadata: string, issuer: string): Promise<string> {
  const answer = await answerOf({ kind: "metadata", metadata, issuer });
  invariant("ssoUrl" in answer, "an address was requested");
  return answer.ssoUrl;
}

async function answerOf(question: SamlQuestion): Promise<SamlAnswer> {
  const answer = await task.run(question).catch((error: unknown) => {
    throw error instanceof TooComplex ? new SamlRefused(error.message) : error;
  });
  if ("refused" in answer) throw new SamlRefused(answer.refused);
  return answer;
}
