import { expect } from "chai";

import { longestTurnMs } from "../../support/app/longest-turn.ts";
import { browser } from "../../support/client/browser.ts";
import { samlWorld } from "../../support/client/saml-world.ts";

const { app, idp, at, target, begin, bring, person } = await samlWorld();

/** Its signature is wrong, which shows after each element was compared with each name space. */
function slowResponse(elements: number): string {
  const names = Array.from({ length: 190 }, (_, n) => `xmlns:n${n}="urn:${n}"`).join(" ");
  const is = (algorithm: string) => `Algorithm="http://www.w3.org/2001/${algorithm}"`;
  const signature = `<d:Signature xmlns:d="http://www.w3.org/2000/09/xmldsig#"><d:SignedInfo>
    <d:CanonicalizationMethod ${is("10/xml-exc-c14n#")}/>
    <d:SignatureMethod ${is("04/xmldsig-more#rsa-sha256")}/>
    <d:Reference URI="#_x"><d:Transforms><d:Transform ${is("10/xml-exc-c14n#")}/></d:Transforms>
    <d:DigestMethod ${is("04/xmlenc#sha256")}/><d:DigestValue>AAAA</d:DigestValue></d:Reference>
    </d:SignedInfo><d:SignatureValue>AAAA</d:SignatureValue></d:Signature>`;
  const of = "urn:oasis:names:tc:SAML:2.0";
  return `<p:Response xmlns:p="${of}:protocol" ID="_r" ${names}>
    <p:Status><p:StatusCode Value="${of}:status:Success"/></p:Status>
    <a:Assertion xmlns:a="${of}:assertion" ID="_x">${signature}${"<c/>".repeat(elements)}</a:Assertion>
    </p:Response>`;
}

describe("a login by SAML", () => {
  it("is refused for a response that takes long to verify, and delays nobody", async () => {
    const fields = { SAMLResponse: Buffer.from(slowResponse(3_000)).toString("base64") };
    const send = async () => {
      expect((await browser(app.url).post(`${at}/acs`, fields)).status).to.equal(403);
    };
    expect(await longestTurnMs(send)).to.be.below(500);
  });

  it("is refused many times at once but for one", async () => {
    const answer = await idp.answer(target, {
      ...person(),
      inResponseTo: await begin(browser(app.url)),
    });
    const all = await Promise.all(Array.from({ length: 8 }, () => bring(answer)));
    expect(all.filter(({ status }) => status === 303)).to.have.length(1);
  });
});
