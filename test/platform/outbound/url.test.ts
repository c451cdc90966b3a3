import { expect } from "chai";

import { allowNothing, parseOutboundAllow } from "../../../src/platform/outbound/address.ts";
import { checkOutboundUrl, OutboundRefused } from "../../../src/platform/outbound/url.ts";

const cases: Readonly<Record<string, readonly string[]>> = {
  "url.malformed": [
    "",
    "hook",
    "//example.com/",
    "http://",
    "http://exa mple.com/",
    " http://example.com/",
    "http://example.com/\n",
    "http://exam\tple.com/",
    "http://example.com\\@127.0.0.1/",
    "http:\\\\127.0.0.1/",
    "http://example.com/\u0000",
    "http://[fe80::1%25eth0]/",
    "http://[::1/",
    "http://256.1/",
    "http://1.2.3.4.5/",
    "http://example.com:65536/",
    "http://example.com:-1/",
    "http://example.com:80:80/",
    `http://example.com/${"a".repeat(2048)}`,
  ],
  "url.scheme": [
    "ftp://example.com/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:6379/_",
    "ws://example.com/",
    "javascript:alert(1)",
    "data:text/plain,x",
    "unix:/var/run/docker.sock",
    "example.com:80",
  ],
  "url.credentials": [
    "http://user@example.com/",
    "http://user:pass@example.com/",
    "http://:pass@example.com/",
    "http://example.com@127.0.0.1/",
    "http://127.0.0.1:80@example.com/",
    "http://example.com#@127.0.0.1@x/".replace("#", "%23"),
  ],
  "url.port": ["http://example.com:0/", "https://example.com:00/"],
  "url.address": [
    "http://127.0.0.1/",
    "http://127.1/",
    "http://127.0.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.0.0.1/",
    "http://0177.0.0.1/",
    "http://017700000001/",
    "http://127.0.0.1./",
    "http://①②⑦.⓪.⓪.①/",
    "http://127。0。0。1/",
    "http://%31%32%37.0.0.1/",
    "http://0/",
    "http://0.0.0.0:8080/",
    "http://169.254.169.254/latest/meta-data/",
    "http://2852039166/",
    "http://10.0.0.1/",
    "http://[::]/",
    "http://[::1]:8080/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[0:0:0:0:0:ffff:169.254.169.254]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[2001:0:7f00:1::]/",
    "http://[fd00:ec2::254]/",
    "http://[fe80::1]/",
    "http://localhost/",
    "http://LOCALHOST:3000/",
    "http://localhost./",
    "http://hook.localhost/",
    "https://127.0.0.1/",
  ],
};

describe("URLs of outbound requests", () => {
  for (const [code, urls] of Object.entries(cases)) {
    for (const url of urls) {
      it(`refuses ${JSON.stringify(url.slice(0, 60))} as ${code}`, () => {
        expect(() => checkOutboundUrl(url, allowNothing))
          .to.throw(OutboundRefused)
          .with.property("code", code);
      });
    }
  }

  for (const url of [
    "http://example.com/",
    "https://example.com:65535/hook?x=1",
    "http://example.com:1/",
    "http://8.8.8.8/",
    "http://[2606:4700:4700::1111]:8080/",
    "http://example.com/#@127.0.0.1/",
    "http://127.0.0.1.example.com/",
    "http://localhost.example.com/",
  ]) {
    it(`takes ${url}`, () => {
      expect(checkOutboundUrl(url, allowNothing).href).to.equal(url);
    });
  }

  it("keeps to the normal form of what it checked", () => {
    expect(checkOutboundUrl("HTTP://EXAMPLE.com:80/a/../b", allowNothing).href).to.equal(
      "http://example.com/b",
    );
  });

  it("takes an exception by host and port for that port alone", () => {
    const allow = parseOutboundAllow(["localhost:3000", "127.0.0.1:80"]);
    for (const url of ["http://localhost:3000/", "http://127.1/", "http://0x7f000001:80/"]) {
      expect(() => checkOutboundUrl(url, allow)).not.to.throw();
    }
    for (const url of ["http://localhost/", "https://127.0.0.1/", "http://127.0.0.1:81/"]) {
      expect(() => checkOutboundUrl(url, allow)).to.throw(OutboundRefused);
    }
  });
});
