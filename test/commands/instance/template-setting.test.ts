import { templateSetting } from "../../../src/commands/instance/template-setting.ts";
import type { EventOf } from "../../../src/events/core/event.ts";
import { UserId } from "../../../src/events/core/ids.ts";
import {
  type TemplateSettings,
  type templateSettingEvents,
  templateSettingsDefault,
} from "../../../src/events/instance/template-setting.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

type TemplateSettingEvent = EventOf<typeof templateSettingEvents>;

const given = specify(templateSetting);
const by = UserId.parse("0b9f2d3a-6f0e-4c35-8a9e-0d1f2a3b4c5d");
const parent = {
  parentId: "9a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d",
  parentType: "TEAM",
} as const;

const change = (settings: Partial<TemplateSettings>) =>
  ({ type: "ChangeTemplateSettings", ...parent, settings, by, at }) as const;
const changed = (
  settings: TemplateSettings,
  previous = templateSettingsDefault,
): TemplateSettingEvent => ({
  type: "TemplateSettingsChanged",
  data: { ...parent, settings, previous, changedById: by, changedAt: at },
});

describe("changing what is handed down", () => {
  const tags = { ...templateSettingsDefault, allowImportTagProtection: true };

  it("records all switches before and after", () => {
    const both = { ...tags, allowImportBranchProtection: true };
    given()
      .when(change({ allowImportTagProtection: true }))
      .gives(changed(tags));
    given(changed(tags))
      .when(change({ allowImportBranchProtection: true }))
      .gives(changed(both, tags));
  });

  it("does nothing when they stand so already", () => {
    given().when(change({})).givesNothing();
    given()
      .when(change({ allowImportTagProtection: false }))
      .givesNothing();
    given(changed(tags))
      .when(change({ allowImportTagProtection: true }))
      .givesNothing();
  });
});
