import { createRequire } from "node:module";

/** What a provider sent is not accepted. The message is for the log. */
export class SamlRefused extends Error {
  override readonly name = "SamlRefused";
}

/** As much of the DOM as is used here. */
export type XmlElement = Readonly<{
  localName: string;
  namespaceURI: string | null;
  getAttribute: (name: string) => string | null;
  getElementsByTagNameNS: (namespace: string, localName: string) => ArrayLike<XmlElement>;
}>;

type Report = (message: string) => void;
type XmlDom = Readonly<{
  DOMParser: new (
    options: Readonly<{
      errorHandler: Readonly<Record<"warning" | "error" | "fatalError", Report>>;
    }>,
  ) => Readonly<{
    parseFromString: (
      text: string,
      type: string,
    ) => Readonly<{ documentElement?: XmlElement | null }>;
  }>;
}>;

/**
 * Loaded when it is needed, and not imported by name: its types would make those of browsers known to
 * the whole program.
 */
const xmlDom = (): XmlDom => createRequire(import.meta.url)("@xmldom/xmldom") as XmlDom;

/** A response has some dozens, metadata of one provider some hundreds; checking costs by their number. */
const elementsMax = 50_000;
const responseElementsMax = 5_000;

/** @throws SamlRefused for what is no XML, holds a document type, or is out of all proportion */
export function parseSamlXml(text: string, limit = responseElementsMax): XmlElement {
  const elements = text.split("<").length - 1;
  if (elements > limit) throw new SamlRefused("It is out of all proportion.");
  // Entities are defined there: neither SAML nor its metadata needs one.
  if (/<!DOCTYPE|<!ENTITY/i.test(text)) throw new SamlRefused("It holds a document type.");
  const fail = (message: string): never => {
    throw new SamlRefused(`It is not XML: ${message.split("\n")[0]}`);
  };
  try {
    const { DOMParser } = xmlDom();
    const parser = new DOMParser({
      errorHandler: { warning: fail, error: fail, fatalError: fail },
    });
    const root = parser.parseFromString(text, "text/xml").documentElement;
    if (root) return root;
  } catch (error) {
    if (error instanceof SamlRefused) throw error;
    throw new SamlRefused("It is not XML.");
  }
  throw new SamlRefused("It is empty.");
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
