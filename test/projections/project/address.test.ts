import { expect } from "chai";

import { settingsDefaults } from "../../../src/events/instance/settings.ts";
import { addressesOf, transportUrls } from "../../../src/projections/project/address.ts";

const publicUrl = "https://forge.example:8443";

describe("the SSH address of a project", () => {
  for (const [what, known, settings, expected] of [
    ["no port", {}, {}, "git@forge.example:anna/search.git"],
    ["port 22", { publicSshPort: 22 }, {}, "git@forge.example:anna/search.git"],
    ["another port", { publicSshPort: 2222 }, {}, "ssh://git@forge.example:2222/anna/search.git"],
    [
      "a port that an administrator set",
      { publicSshPort: 2222, publicSshHost: "git.example" },
      { enableCustomSshPort: true, sshPort: 2022 },
      "ssh://git@git.example:2022/anna/search.git",
    ],
    [
      "port 22 that an administrator set",
      { publicSshPort: 2222 },
      { enableCustomSshPort: true, sshPort: 22 },
      "git@forge.example:anna/search.git",
    ],
  ] as const) {
    it(`is ${expected} for ${what}`, () => {
      const addresses = addressesOf({ publicUrl, ...known }, { ...settingsDefaults, ...settings });
      const { sshTransportUrl } = transportUrls(
        { owner_alias: "anna", alias: "search" },
        addresses,
      );
      expect(sshTransportUrl).to.equal(expected);
    });
  }
});
