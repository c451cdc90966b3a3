import { expect } from "chai";

import { isAllowedAddress, parseOutboundAllow } from "../../../src/platform/outbound/address.ts";

/** First and last of every refused range, and the ways an IPv6 address can carry an IPv4 one. */
const refused = [
  ["0.0.0.0", "0.255.255.255"],
  ["10.0.0.0", "10.255.255.255"],
  ["100.64.0.0", "100.127.255.255"],
  ["127.0.0.1", "127.255.255.255"],
  ["168.63.129.16"],
  ["169.254.0.0", "169.254.169.254", "169.254.255.255"],
  ["172.16.0.0", "172.31.255.255"],
  ["192.0.0.0", "192.0.0.170", "192.0.0.255"],
  ["192.0.2.0", "192.0.2.255"],
  ["192.88.99.0", "192.88.99.255"],
  ["192.168.0.0", "192.168.255.255"],
  ["198.18.0.0", "198.19.255.255"],
  ["198.51.100.0", "198.51.100.255"],
  ["203.0.113.0", "203.0.113.255"],
  ["224.0.0.0", "239.255.255.255"],
  ["240.0.0.0", "255.255.255.254", "255.255.255.255"],
  ["::", "::1", "::2"],
  ["::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:10.0.0.1", "::ffff:a9fe:a9fe"],
  ["::127.0.0.1", "::7f00:1", "::8.8.8.8"],
  ["::ffff:0:127.0.0.1", "::ffff:0:8.8.8.8"],
  ["64:ff9b::", "64:ff9b::7f00:1", "64:ff9b::8.8.8.8", "64:ff9b:1::", "64:ff9b:1:ffff::1"],
  ["100::", "100::ffff:ffff:ffff:ffff"],
  ["2001::", "2001:0:7f00:1::1", "2001:2::1", "2001:10::", "2001:1f:ffff::", "2001:20::"],
  ["2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["2002::", "2002:7f00:1::", "2002:ffff:ffff::"],
  ["3fff::", "3fff:fff:ffff::1"],
  ["5f00::1", "4000::1", "1fff::1"],
  ["fc00::", "fd00:ec2::254", "fdff:ffff::1"],
  ["fe80::1", "fe80::1%eth0", "febf::1", "fec0::1", "feff::1", "ffc0::1"],
  ["ff00::", "ff02::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["2606:4700::1%eth0", "localhost", "", "1.2.3", "not an address", "0x7f.0.0.1", "8.8.8.8:80"],
].flat();

const allowed = [
  "1.0.0.0",
  "8.8.8.8",
  "9.255.255.255",
  "11.0.0.0",
  "100.63.255.255",
  "100.128.0.0",
  "126.255.255.255",
  "128.0.0.0",
  "168.63.129.15",
  "168.63.129.17",
  "169.253.255.255",
  "169.255.0.0",
  "172.15.255.255",
  "172.32.0.0",
  "192.0.1.0",
  "192.0.3.0",
  "192.167.255.255",
  "192.169.0.0",
  "198.17.255.255",
  "198.20.0.0",
  "223.255.255.255",
  "::ffff:8.8.8.8",
  "2001:200::1",
  "2001:4860:4860::8888",
  "2003::1",
  "2606:4700:4700::1111",
  "3ffe:ffff::1",
];

describe("addresses of outbound requests", () => {
  for (const address of refused) {
    it(`refuses ${JSON.stringify(address)}`, () => {
      expect(isAllowedAddress(address)).to.equal(false);
    });
  }

  for (const address of allowed) {
    it(`allows ${address}, which is public`, () => {
      expect(isAllowedAddress(address)).to.equal(true);
    });
  }

  it("allows what the operator listed, and nothing beside it", () => {
    const allow = parseOutboundAllow(["10.1.0.0/16", " fd00::/8", "127.0.0.1", "::1", ""]);
    for (const address of ["10.1.0.0", "10.1.255.255", "fd12::1", "127.0.0.1", "::1"]) {
      expect(isAllowedAddress(address, allow), address).to.equal(true);
    }
    for (const address of ["10.0.255.255", "10.2.0.0", "fc00::1", "127.0.0.2", "::2"]) {
      expect(isAllowedAddress(address, allow), address).to.equal(false);
    }
  });

  it("sees an allowed IPv4 range behind IPv4-mapped IPv6 too", () => {
    const allow = parseOutboundAllow(["10.1.0.0/16"]);
    expect(isAllowedAddress("::ffff:10.1.2.3", allow)).to.equal(true);
    expect(isAllowedAddress("::ffff:10.2.2.3", allow)).to.equal(false);
  });

  it("reads hosts with a port in any spelling of them", () => {
    const { hosts } = parseOutboundAllow(["Hooks.Internal:8080", "[::1]:9000", "127.1:80"]);
    expect([...hosts]).to.deep.equal(["hooks.internal:8080", "[::1]:9000", "127.0.0.1:80"]);
  });

  for (const entry of ["hooks.internal", "a:0", "a:65536", "10.0.0.0/33", "http://a:80", "a b:1"]) {
    it(`names the bad entry ${entry}`, () => {
      expect(() => parseOutboundAllow(["10.0.0.0/8", entry])).to.throw(entry);
    });
  }
});
