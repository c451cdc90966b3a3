import type { ProjectId, UserId } from "../../events/core/ids.ts";
import {
  type MergeMessages,
  type MergeSettings,
  mergeMessagesDefault,
  mergeSettingEvents,
  mergeSettingStream,
  mergeSettingsDefault,
} from "../../events/merge-request/merge-setting.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";

type Within = Readonly<{ projectId: ProjectId; by: UserId; at: string }>;

/** What is left out of a change stays as it is. */
export type MergeSettingCommand =
  | (Within & Readonly<{ type: "ChangeMergeSettings"; change: Partial<MergeSettings> }>)
  | (Within & Readonly<{ type: "ChangeMergeMessages"; change: Partial<MergeMessages> }>);

type State = Readonly<{ settings: MergeSettings; messages: MergeMessages }>;

export const mergeSetting: Slice<State, MergeSettingCommand, typeof mergeSettingEvents> = {
  events: mergeSettingEvents,
  stream: mergeSettingStream,
  initialState: { settings: mergeSettingsDefault, messages: mergeMessagesDefault },

  decide(state, command) {
    const { projectId, by: changedById, at: changedAt } = command;
    const common = { projectId, changedById, changedAt };
    switch (command.type) {
      case "ChangeMergeSettings": {
        const previousSettings = state.settings;
        const settings = { ...previousSettings, ...command.change };
        mustAllowItself(settings);
        if (JSON.stringify(settings) === JSON.stringify(previousSettings)) return [];
        return [{ type: "MergeSettingsChanged", data: { ...common, settings, previousSettings } }];
      }
      case "ChangeMergeMessages": {
        const previousMessages = state.messages;
        const messages = { ...previousMessages, ...command.change };
        if (JSON.stringify(messages) === JSON.stringify(previousMessages)) return [];
        return [{ type: "MergeMessagesChanged", data: { ...common, messages, previousMessages } }];
      }
      default:
        return unreachable(command);
    }
  },

  evolve(state, event) {
    switch (event.type) {
      case "MergeSettingsChanged":
        return { ...state, settings: event.data.settings };
      case "MergeMessagesChanged":
        return { ...state, messages: event.data.messages };
      default:
        return unreachable(event);
    }
  },
};

function mustAllowItself({ mergeStrategy, allowedStrategies }: MergeSettings): void {
  if (allowedStrategies.includes(mergeStrategy)) return;
  const message = `${mergeStrategy} is not among the allowed strategies.`;
  throw new Refusal("unprocessable", "merge_setting.strategy_not_allowed", message, {
    errors: [{ field: "mergeStrategy", code: "merge_setting.strategy_not_allowed", message }],
  });
}
