import { expect } from "chai";

import { directoryGuard } from "../../../src/platform/identity/directory-address.ts";

const usual = directoryGuard(undefined);
const listed = directoryGuard(["127.0.0.1/32", "fd00::/8", "ldap.example.org:1389"]);

describe("the address of a directory", () => {
  it("is a scheme, a host and a port, by default LDAP's own", () => {
    const host = "10.1.2.3";
    expect(usual.check("ldap://10.1.2.3")).to.deep.equal({ secure: false, host, port: 389 });
    expect(usual.check("LDAPS://10.1.2.3/")).to.deep.equal({ secure: true, host, port: 636 });
    expect(usual.check("ldaps://[FD00::1]:3269").host).to.equal("fd00::1");
    expect(usual.check("ldap://ldap.example.org:3268").port).to.equal(3268);
  });

  for (const url of [
    ...["", "ldap://", "http://10.1.2.3", "ldapi:///", "ldap://10.1.2.3:0", "ldap://a:99999"],
    ...["ldap://user@10.1.2.3", "ldap://10.1.2.3/dc=x??sub", "ldap://10.1.2.3 ", "ldap://a b"],
    ...["ldap://[::1", "ldap://10.1.2.3:389:389", "ldap://a/../b", "ldap://a?b", "ldap://a#b"],
  ]) {
    it(`is not ${JSON.stringify(url)}`, () => {
      expect(() => usual.check(url)).to.throw("ldap://host:port");
    });
  }

  for (const host of [
    ...["127.0.0.1", "127.1", "2130706433", "0x7f.1", "0.0.0.0", "169.254.169.254", "[::1]"],
    ...["[::ffff:127.0.0.1]", "[fe80::1]", "224.0.0.1", "100.64.0.1", "168.63.129.16"],
  ]) {
    it(`is not at ${host} unless the operator allows it`, () => {
      expect(() => usual.check(`ldaps://${host}`)).to.throw("not allowed");
    });
  }

  it("is at LDAP's own ports unless the operator allows another", () => {
    expect(() => usual.check("ldap://10.1.2.3:6379")).to.throw("Port 6379");
    expect(listed.check("ldap://127.0.0.1:6379").port).to.equal(6379);
  });

  it("is, with a list, nowhere but there", () => {
    const at = (url: string, resolved: string) => listed.isAllowed(listed.check(url), resolved);
    expect(at("ldap://dir.example.org", "127.0.0.1")).to.equal(true);
    expect(at("ldap://dir.example.org", "fd00::5")).to.equal(true);
    expect(at("ldap://dir.example.org", "10.1.2.3")).to.equal(false);
    expect(at("ldap://dir.example.org", "8.8.8.8")).to.equal(false);
    expect(at("ldap://ldap.example.org:1389", "192.168.0.9")).to.equal(true);
    expect(at("ldap://ldap.example.org:389", "192.168.0.9")).to.equal(false);
    expect(() => listed.check("ldap://10.1.2.3")).to.throw("not allowed");
  });

  it("is held against what its name resolves to", () => {
    const address = usual.check("ldap://dir.example.org");
    expect(usual.isAllowed(address, "192.168.0.9")).to.equal(true);
    expect(usual.isAllowed(address, "127.0.0.1")).to.equal(false);
    expect(usual.isAllowed(address, "::ffff:169.254.169.254")).to.equal(false);
    expect(usual.isAllowed(address, "")).to.equal(false);
  });
});
