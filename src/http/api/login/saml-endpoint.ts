export type SamlEndpoints = Readonly<{
  entityId: string;
  metadataUrl: string;
  loginUrl: string;
  acsUrl: string;
  finishUrl: string;
}>;

/** Every connection is a service provider of its own: an assertion for one is not valid for another. */
export function samlEndpoints(publicUrl: string, connectionId: string): SamlEndpoints {
  const entityId = `${publicUrl}/login/saml/${connectionId}`;
  return {
    entityId,
    metadataUrl: `${entityId}/metadata`,
    loginUrl: entityId,
    acsUrl: `${entityId}/acs`,
    finishUrl: `${entityId}/finish`,
  };
}
