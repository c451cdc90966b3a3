import { createRequire } from "node:module";

/** A document that others wrote is not accepted; the message says why. */
export class XmlRefused extends Error {
  override readonly name = "XmlRefused";
}

/** As much of the DOM as is used here. */
export type XmlElement = Readonly<{
  localName: string;
  namespaceURI: string | null;
  textContent: string | null;
  /** Texts and comments among them, which have no local name. */
  childNodes: ArrayLike<XmlElement>;
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

/** `<?xml version="1.0" encoding="UTF-8"?>` at the start. */
const declaration = /^\ufeff?<\?xml\s[^<>?]{0,200}\?>/;

/** Documents of SAML and NuGet have about ten. The parser copies what is declared above for each declaration. */
const prefixesMax = 200;

/** Those documents are some ten deep. The parser takes longer for each element the deeper it is. */
const depthMax = 2_500;

/**
 * @throws XmlRefused for what is no XML, holds a document type or a processing instruction, or has more
 *   elements, levels, or prefixes of name spaces, than it may
 */
export function parseXml(text: string, elementsMax: number): XmlElement {
  const elements = text.split("<").length - 1;
  if (elements > elementsMax) throw new XmlRefused("It is out of all proportion.");
  if (prefixesOf(text) > prefixesMax) throw new XmlRefused("It has too many name spaces.");
  if (isTooDeep(text)) throw new XmlRefused("It is nested too deep.");
  // Entities are defined there: nothing that is read here needs one.
  if (/<!DOCTYPE|<!ENTITY/i.test(text)) throw new XmlRefused("It holds a document type.");
  // The parser takes the square of the length of one, and of how many there are.
  if (text.replace(declaration, "").includes("<?")) {
    throw new XmlRefused("It holds a processing instruction.");
  }
  const fail = (message: string): never => {
    throw new XmlRefused(`It is not XML: ${message.split("\n")[0]}`);
  };
  try {
    const { DOMParser } = xmlDom();
    const parser = new DOMParser({
      errorHandler: { warning: fail, error: fail, fatalError: fail },
    });
    const root = parser.parseFromString(text, "text/xml").documentElement;
    if (root) return root;
  } catch (error) {
    if (error instanceof XmlRefused) throw error;
    throw new XmlRefused("It is not XML.");
  }
  throw new XmlRefused("It is empty.");
}

/** Different ones that are declared, at most one more than are allowed. */
function prefixesOf(text: string): number {
  const prefixes = new Set<string>();
  for (const [declared] of text.matchAll(/xmlns:[^\s=<>"'/:]+/g)) {
    prefixes.add(declared);
    if (prefixes.size > prefixesMax) break;
  }
  return prefixes.size;
}

/** Counts the start and end tags without comparing their names. */
function isTooDeep(text: string): boolean {
  let depth = 0;
  for (const [found] of text.matchAll(/<[^!?]|\/>/g)) {
    depth += found === "</" || found === "/>" ? -1 : 1;
    if (depth > depthMax) return true;
  }
  return false;
}
