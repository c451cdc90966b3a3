export type OidcEndpoints = Readonly<{ loginUrl: string; callbackUrl: string }>;

/** An address for each connection: an answer that comes to another's is another provider's (RFC 9207). */
export function oidcEndpoints(publicUrl: string, connectionId: string): OidcEndpoints {
  const loginUrl = `${publicUrl}/login/oidc/${connectionId}`;
  return { loginUrl, callbackUrl: `${loginUrl}/callback` };
}
