import { isSame } from "../../../platform/key/signed.ts";
import { type ClientRow, findClient } from "../../../projections/oauth/application.ts";
import { basicCredentials } from "../../access/credentials.ts";
import type { Deps } from "../../core/deps.ts";
import { OAuthRefusal } from "./error.ts";

export type TokenFields = Readonly<{
  client_id?: string | undefined;
  client_secret?: string | undefined;
}>;

/**
 * Which application calls (RFC 6749, 2.3): by id and secret in the header or in the body, not in both.
 * One without a server-side component has nothing to authenticate with and names only its id; if it
 * sends a secret all the same, that has to be right.
 *
 * @throws OAuthRefusal 401 `invalid_client`, 400 `invalid_request`
 */
export async function authenticatedClient(
  header: string,
  fields: TokenFields,
  { db, vault }: Deps,
): Promise<ClientRow> {
  const { id, secret } = header === "" ? inBody(fields) : inHeader(header, fields);
  const client = await findClient(db, id);
  const expected = client && (await vault.open(client.client_secret));
  const isPublic = client?.is_standalone === true && secret === undefined;
  const isRight = typeof expected === "string" && isSame(secret ?? "", expected);
  if (client === undefined || (!isPublic && !isRight)) throw unauthenticated();
  return client;
}

type Named = Readonly<{ id: string; secret: string | undefined }>;

function inBody({ client_id: id, client_secret: secret }: TokenFields): Named {
  if (id === undefined) throw unauthenticated();
  return { id, secret };
}

function inHeader(header: string, fields: TokenFields): Named {
  const [id, secret] = basicCredentials(header)?.map(formDecoded) ?? [];
  if (id === undefined || secret === undefined) throw unauthenticated();
  const differs = fields.client_id !== undefined && fields.client_id !== id;
  if (differs || fields.client_secret !== undefined) {
    throw new OAuthRefusal("invalid_request", "The client authenticates in more than one way.");
  }
  return { id, secret };
}

/** RFC 6749, 2.3.1: each is written as in a form before the two are joined. */
function formDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

function unauthenticated(): OAuthRefusal {
  const message = "The application is unknown or not registered, or its secret is wrong.";
  return new OAuthRefusal("invalid_client", message);
}
