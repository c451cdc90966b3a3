import type { UserId } from "../../events/core/ids.ts";
import type { ParentType } from "../../events/core/role.ts";
import {
  type TemplateSettings,
  templateSettingEvents,
  templateSettingStream,
  templateSettingsDefault,
} from "../../events/instance/template-setting.ts";
import type { Slice } from "../core/decider.ts";

export type TemplateSettingCommand = Readonly<{
  type: "ChangeTemplateSettings";
  parentId: string;
  parentType: ParentType;
  settings: Partial<TemplateSettings>;
  by: UserId;
  at: string;
}>;

export const templateSetting: Slice<
  TemplateSettings,
  TemplateSettingCommand,
  typeof templateSettingEvents
> = {
  events: templateSettingEvents,
  stream: templateSettingStream,
  initialState: templateSettingsDefault,

  decide(previous, { parentId, parentType, settings: given, by: changedById, at: changedAt }) {
    const settings = { ...previous, ...given };
    const keys = Object.keys(previous) as (keyof TemplateSettings)[];
    if (keys.every((key) => settings[key] === previous[key])) return [];
    const data = { parentId, parentType, settings, previous, changedById, changedAt };
    return [{ type: "TemplateSettingsChanged", data }];
  },

  evolve: (_state, event) => event.data.settings,
};
