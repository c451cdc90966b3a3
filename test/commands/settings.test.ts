import { expect } from "chai";

import { type SettingsChanges, settings } from "../../src/commands/settings.ts";
import { UserId } from "../../src/events/ids.ts";
import { type Settings, type SettingsEvent, settingsDefaults } from "../../src/events/settings.ts";
import { specify } from "../support/decider.ts";
import { at } from "../support/history.ts";

const given = specify(settings.decider);
const by = UserId.parse("9a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d");
const change = (changes: SettingsChanges) => ({ type: "ChangeSettings", changes, by, at }) as const;
const changed = (changes: Partial<Settings>): SettingsEvent => ({
  type: "SettingsChanged",
  data: { changes, changedById: by, changedAt: at },
});

describe("changing settings", () => {
  it("records what is other than before, and nothing else", () => {
    given()
      .when(change({ enableBasicAuth: false, sshPort: settingsDefaults.sshPort }))
      .gives(changed({ enableBasicAuth: false }));
    given(changed({ whiteListDomains: ["a.org"] }))
      .when(change({ whiteListDomains: ["a.org"] }))
      .givesNothing();
    given(changed({ whiteListDomains: ["a.org"] }))
      .when(change({ whiteListDomains: [] }))
      .gives(changed({ whiteListDomains: [] }));
  });

  it("takes what is not told for what is to stay", () => {
    given()
      .when(change({ enableBasicAuth: undefined }))
      .givesNothing();
  });

  it("adds up to the settings in force", () => {
    const past = [changed({ sshPort: 2222 }), changed({ sshPort: 2223, enableApiLimit: true })];
    expect(past.reduce(settings.decider.evolve, settings.decider.initialState)).to.deep.equal({
      ...settingsDefaults,
      sshPort: 2223,
      enableApiLimit: true,
    });
  });
});
