import { expect } from "chai";

import { parseXml, XmlRefused } from "../../../src/platform/identity/xml.ts";

const nested = (count: number, prefix: (n: number) => string): string => {
  const opened = Array.from({ length: count }, (_, n) => `<b xmlns:${prefix(n)}="u">`).join("");
  return opened + "</b>".repeat(count);
};

describe("an XML document", () => {
  it("may declare 200 prefixes of name spaces, each as often as it likes, and no more", () => {
    const parsed = (count: number, prefix: (n: number) => string) =>
      parseXml(nested(count, prefix), 10_000).localName;
    expect(parsed(200, (n) => `n${n}`)).to.equal("b");
    expect(parsed(1_000, (n) => `n${n % 200}`)).to.equal("b");
    expect(() => parsed(201, (n) => `n${n}`)).to.throw(XmlRefused, "too many name spaces");
  });

  it("may be 2,500 elements deep, however many stand beside one another", () => {
    const deep = (count: number) => "<b>".repeat(count) + "</b>".repeat(count);
    expect(parseXml(deep(2_500), 10_000).localName).to.equal("b");
    expect(() => parseXml(deep(2_501), 10_000)).to.throw(XmlRefused, "nested too deep");
    const wide = `<a>${"<b/><c>text</c><!-- <d> -->".repeat(900)}</a>`;
    expect(parseXml(wide, 10_000).localName).to.equal("a");
  });
});
