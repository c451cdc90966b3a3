import { parseXml, type XmlElement, XmlRefused } from "./xml.ts";

/** What a provider sent is not accepted. The message is for the log. */
export class SamlRefused extends Error {
  override readonly name = "SamlRefused";
}

/** A response has some dozens, metadata of one provider some hundreds; checking costs by their number. */
const elementsMax = 50_000;
const responseElementsMax = 5_000;

/** @throws SamlRefused for what is no XML, holds a document type, or is out of all proportion */
export function parseSamlXml(text: string, limit = responseElementsMax): XmlElement {
  try {
    return parseXml(text, limit);
  } catch (error) {
    throw error instanceof XmlRefused ? new SamlRefused(error.message) : error;
  }
}

const metadataNamespace = "urn:oasis:names:tc:SAML:2.0:metadata";
const redirectBinding = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect";

/**
 * The address that logins are begun at, from a provider's metadata. Certificates in there are not
 * believed: the administrator gave the one that is.
 *
 * @throws SamlRefused when there is no such provider in it, or no such address
 */
export function samlSsoUrl(metadata: string, idpIssuer: string): string {
  const root = parseSamlXml(metadata, elementsMax);
  const all = Array.from(root.getElementsByTagNameNS(metadataNamespace, "EntityDescriptor"));
  const entity = [root, ...all].find((each) => each.getAttribute("entityID") === idpIssuer);
  if (entity === undefined) throw new SamlRefused(`The metadata does not describe ${idpIssuer}.`);
  const services = Array.from(
    entity.getElementsByTagNameNS(metadataNamespace, "SingleSignOnService"),
  );
  const service = services.find((each) => each.getAttribute("Binding") === redirectBinding);
  const location = service?.getAttribute("Location") ?? "";
  if (!URL.canParse(location) || !/^https?:$/.test(new URL(location).protocol)) {
    throw new SamlRefused("The metadata names no address for logins by HTTP-Redirect.");
  }
  return location;
}
