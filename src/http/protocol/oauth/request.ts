import type { Scope } from "../../../events/token/access-token.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { type ClientRow, findClient } from "../../../projections/oauth/application.ts";
import { isPrivateUse, isRedirectOf, withParameters } from "../../api/oauth/redirect.ts";
import type { Deps } from "../../core/deps.ts";
import type { OAuthErrorCode } from "./error.ts";
import { parseScopes } from "./scope.ts";

/** Each parameter with the names that clients in the field send it by. */
const names = {
  client: ["client_id", "clientId"],
  redirect: ["redirect_uri", "redirectUrl", "redirect_url"],
  scope: ["scope"],
  state: ["state"],
  responseType: ["response_type"],
  challenge: ["code_challenge"],
  challengeMethod: ["code_challenge_method"],
} as const;

const stateLengthMax = 4_096;

export type AuthorizeRequest = Readonly<{
  client: ClientRow;
  /** Where the answer goes. */
  redirectUri: string;
  /** Whether the request named it; the exchange of the code must then name it again. */
  redirectNamed: boolean;
  scopes: readonly Scope[];
  state: string | undefined;
  codeChallenge: string | null;
}>;

/** An address of the application with the answer to its request. */
export type Sent = Readonly<{ redirect: string }>;

/**
 * Reads a request for an authorization (RFC 6749, 4.1.1). Errors in it are sent to the application, at its
 * own address, once the owner of that address is known.
 *
 * @throws Refusal 422 when that is not known: nobody is sent to an address that was not registered
 */
export async function readAuthorizeRequest(
  parameters: unknown,
  deps: Deps,
): Promise<AuthorizeRequest | Sent> {
  const read = (name: keyof typeof names) => one(parameters, names[name]);
  const client = await findClient(deps.db, read("client") ?? "");
  if (client === undefined) throw unknownClient();
  const named = read("redirect");
  const redirectUri = named ?? client.callback_url;
  if (!isRedirectOf(client, redirectUri)) throw foreignRedirect();

  const state = read("state");
  const refuse = (error: OAuthErrorCode, description: string): Sent =>
    answerAt({ redirectUri, state }, { error, error_description: description }, deps);

  if ((state ?? "").length > stateLengthMax) {
    const answer = { error: "invalid_request", error_description: "The state is too long." };
    return answerAt({ redirectUri, state: undefined }, answer, deps);
  }
  if ((read("responseType") ?? "code") !== "code") {
    return refuse("unsupported_response_type", "Only response_type=code is known.");
  }
  const challenge = read("challenge");
  const mustSendChallenge = client.is_standalone || isPrivateUse(redirectUri);
  const wrong = wrongChallenge(mustSendChallenge, challenge, read("challengeMethod"));
  if (wrong !== undefined) return refuse("invalid_request", wrong);
  const scopes = parseScopes(read("scope") ?? "");
  if (scopes === undefined) return refuse("invalid_scope", "Name scopes that there are.");
  const codeChallenge = challenge ?? null;
  return { client, redirectUri, redirectNamed: named !== undefined, scopes, state, codeChallenge };
}

/** The answer to a request. It says who gives it, so that no other server's can be taken for it (RFC 9207). */
export function answerAt(
  { redirectUri, state }: Pick<AuthorizeRequest, "redirectUri" | "state">,
  answer: Readonly<Record<string, string>>,
  { publicUrl }: Deps,
): Sent {
  return { redirect: withParameters(redirectUri, { ...answer, state, iss: publicUrl }) };
}

/** RFC 7636. What is wrong with it; undefined when nothing. */
function wrongChallenge(
  mustSendChallenge: boolean,
  challenge: string | undefined,
  method: string | undefined,
): string | undefined {
  if (challenge === undefined && method === undefined) {
    return mustSendChallenge ? "This application must send a code_challenge." : undefined;
  }
  // A challenge that is the verifier itself protects from nothing.
  if (method !== "S256") return "code_challenge_method must be S256.";
  const form = /^[A-Za-z0-9_-]{43}$/;
  return form.test(challenge ?? "") ? undefined : "The code_challenge is malformed.";
}

/** @throws Refusal 422 for a parameter that comes twice, under whatever names */
function one(parameters: unknown, aliases: readonly string[]): string | undefined {
  const all = parameters as Readonly<Record<string, unknown>>;
  const values = aliases.flatMap((alias) => (Object.hasOwn(all, alias) ? [all[alias]] : []).flat());
  const [value] = values;
  if (values.length > 1 || (value !== undefined && typeof value !== "string")) {
    const message = `The request names ${aliases[0]} more than once.`;
    throw new Refusal("unprocessable", "oauth.invalid_request", message);
  }
  return value === "" ? undefined : value;
}

function unknownClient(): Refusal {
  const message = "There is no registered application of this client_id.";
  return new Refusal("unprocessable", "oauth.client_unknown", message);
}

function foreignRedirect(): Refusal {
  const message =
    "The address to return to is not the one the application is registered with. Nothing was sent there.";
  return new Refusal("unprocessable", "oauth.redirect_mismatch", message);
}
