import { expect } from "chai";
import { type SettingsChanges, settings } from "../../../src/commands/instance/settings.ts";
import type { EventOf } from "../../../src/events/core/event.ts";
import { UserId } from "../../../src/events/core/ids.ts";
import {
  type Settings,
  settingsDefaults,
  type settingsEvents,
} from "../../../src/events/instance/settings.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

type SettingsEvent = EventOf<typeof settingsEvents>;

const given = specify(settings);
const by = UserId.parse("9a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d");
const change = (changes: SettingsChanges, administratorToken = false) =>
  ({ type: "ChangeSettings", changes, administratorToken, by, at }) as const;
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

  it("keeps settings that are left out", () => {
    given()
      .when(change({ enableBasicAuth: undefined }))
      .givesNothing();
  });

  it("leaves a way in: a login page, Basic authentication or an administrator's token", () => {
    const basicOff = changed({ enableBasicAuth: false });
    const pageOff = { enableBasicLoginPage: false };
    given(basicOff).when(change(pageOff)).refuses("settings.no_way_in");
    given()
      .when(change({ enableBasicAuth: false, ...pageOff }))
      .refuses("settings.no_way_in");
    given().when(change(pageOff)).gives(changed(pageOff));
    given(basicOff).when(change(pageOff, true)).gives(changed(pageOff));
    for (const page of ["enableLdapLoginPage", "enableSamlLoginPage", "enableOidcLoginPage"]) {
      const other = { ...pageOff, [page]: true };
      given(basicOff).when(change(other)).gives(changed(other));
      given(basicOff, changed(other))
        .when(change({ [page]: false }))
        .refuses("settings.no_way_in");
    }
  });

  it("changes other settings also while there is no way in", () => {
    const closed = changed({ enableBasicAuth: false, enableBasicLoginPage: false });
    given(closed)
      .when(change({ sshPort: 2222 }))
      .gives(changed({ sshPort: 2222 }));
  });

  it("adds up to the settings in force", () => {
    const past = [changed({ sshPort: 2222 }), changed({ sshPort: 2223, enableApiLimit: true })];
    expect(past.reduce(settings.evolve, settings.initialState)).to.deep.equal({
      ...settingsDefaults,
      sshPort: 2223,
      enableApiLimit: true,
    });
  });
});
