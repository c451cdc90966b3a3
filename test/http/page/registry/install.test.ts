import { expect } from "chai";

import { PackageType } from "../../../../src/events/package/version.ts";
import { clientLines } from "../../../../src/http/page/registry/install.ts";

const address = "https://forge.example/registry/project/anna/forge/repository/all/";
const images = "forge.example/anna/forge/all";

describe("the lines of clients of packages", () => {
  for (const type of PackageType.options) {
    it(`install and publish ${type} with a token at the address`, () => {
      const { setUp, install, publish } = clientLines({ type, title: "all", address, images });
      const text = [...setUp, ...install, ...publish].join("\n").replace("token:TOKEN@", "");
      expect(text).to.contain(type === "container" ? images : address.replace(/\/$/, ""));
      expect(
        text.includes("TOKEN") || /token:TOKEN@/.test([...setUp, ...install].join("\n")),
      ).to.equal(true);
      expect(publish).to.have.length.greaterThan(0);
      expect(text).not.to.match(/--trusted-host|secure-http|insecure/);
    });
  }

  it("allow plain HTTP where clients refuse it", () => {
    const plain = address.replace("https:", "http:");
    const lines = (type: PackageType) => {
      const { setUp, install } = clientLines({ type, title: "all", address: plain, images });
      return [...setUp, ...install].join("\n");
    };
    expect(lines("pypi")).to.contain("--trusted-host forge.example");
    expect(lines("composer")).to.contain("secure-http false");
    expect(lines("nuget")).to.contain("--allow-insecure-connections");
  });
});
