import { expect } from "chai";

import { longestTurnMs } from "../../../support/app/longest-turn.ts";
import { browser } from "../../../support/client/browser.ts";
import { startReceiver } from "../../../support/client/receiver.ts";
import { samlProvider } from "../../../support/client/saml-provider.ts";
import { samlWorld } from "../../../support/client/saml-world.ts";
import { aliasIn, connectionOf } from "../../../support/client/sso.ts";

const { app, root, idp, body, at, target, begin, bring, logIn, person } = await samlWorld();

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
  it("takes another alias when the one it would have is taken or reserved", async () => {
    await app.givenUser("taken");
    for (const [uid, alias] of [
      ["taken", "taken-2"],
      ["me", "me-2"],
      ["Анна К.", "user"],
      ["../../etc", "etc"],
    ] as const) {
      const said = person();
      const visitor = browser(app.url);
      await logIn(visitor, { ...said, attributes: { ...said.attributes, uid } });
      expect(await aliasIn(visitor), uid).to.equal(alias);
    }
  });

  it("sends requests to the provider where its metadata says, which is fetched once", async () => {
    const receiver = await startReceiver();
    const issuer = "https://published.example.org";
    const published = await samlProvider({ issuer, keys: idp });
    receiver.answer((response) => void response.end(published.metadata()));
    const idpMetadataUrl = `${receiver.url}/metadata`;
    const own = await connectionOf(app, root, "saml", {
      ...body,
      idpIssuer: issuer,
      idpMetadataUrl,
    });
    for (let n = 0; n < 2; n += 1) {
      const { location } = await browser(app.url).open(`/login/saml/${own}`);
      expect(location).to.contain(`${published.ssoUrl}?SAMLRequest=`);
    }
    expect(receiver.received).to.have.length(1);

    receiver.answer((response) => void response.writeHead(302, { location: "/" }).end());
    const idpIssuer = "https://moved.example.org";
    const moved = await connectionOf(app, root, "saml", { ...body, idpIssuer, idpMetadataUrl });
    expect((await browser(app.url).open(`/login/saml/${moved}`)).status).to.equal(503);
  });

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
