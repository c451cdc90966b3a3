import { expect } from "chai";

import { defaultsOfGroup, settingsGroups } from "../../../src/commands/instance/settings-group.ts";
import { settingsDefaults } from "../../../src/events/instance/settings.ts";
import { settingsRoutes } from "../../../src/http/api/instance/settings.ts";

describe("the groups of settings", () => {
  it("are those of the routes", () => {
    const posted = settingsRoutes.filter(({ method }) => method === "post");
    const groups = posted.map(({ path }) => path.split("/").at(-1) ?? "");
    expect(Object.keys(settingsGroups).sort()).to.deep.equal(groups.sort());
  });

  it("hold each setting once", () => {
    const names = Object.values(settingsGroups).flat();
    expect([...names].sort()).to.deep.equal(Object.keys(settingsDefaults).sort());
  });

  it("give their defaults, and nothing for another name", () => {
    expect(defaultsOfGroup("basic-auth")).to.deep.equal({ enableBasicAuth: true });
    for (const name of ["none", "", "constructor", "__proto__"]) {
      expect(defaultsOfGroup(name), name).to.equal(undefined);
    }
  });
});
