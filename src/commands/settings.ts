import type { UserId } from "../events/ids.ts";
import {
  type Settings,
  type SettingsEvent,
  settingsDefaults,
  settingsEvents,
  settingsStream,
} from "../events/settings.ts";
import { unreachable } from "../platform/invariant.ts";
import type { Decider, Slice } from "./decider.ts";

/** An undefined value stays what it was. */
export type SettingsChanges = { readonly [Name in keyof Settings]?: Settings[Name] | undefined };

export type SettingsCommand = Readonly<{
  type: "ChangeSettings";
  changes: SettingsChanges;
  by: UserId;
  at: string;
}>;

const decider: Decider<Settings, SettingsCommand, SettingsEvent> = {
  initialState: settingsDefaults,

  decide(state, command) {
    switch (command.type) {
      case "ChangeSettings": {
        const changes = differing(state, command.changes);
        if (Object.keys(changes).length === 0) return [];
        const { by: changedById, at: changedAt } = command;
        return [{ type: "SettingsChanged", data: { changes, changedById, changedAt } }];
      }
      default:
        return unreachable(command.type);
    }
  },

  evolve(state, event) {
    switch (event.type) {
      case "SettingsChanged":
        return withChanges(state, event.data.changes);
      default:
        return unreachable(event.type);
    }
  },
};

function withChanges(settings: Settings, changes: SettingsChanges): Settings {
  return { ...settings, ...defined(changes) };
}

function differing(before: Settings, changes: SettingsChanges): Partial<Settings> {
  const entries = Object.entries(defined(changes));
  return Object.fromEntries(
    entries.filter(([name, value]) => {
      // Values are JSON: flags, numbers, names and lists of domains.
      return JSON.stringify(value) !== JSON.stringify(before[name as keyof Settings]);
    }),
  );
}

function defined(changes: SettingsChanges): Partial<Settings> {
  const entries = Object.entries(changes).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries);
}

export const settings: Slice<Settings, SettingsCommand, typeof settingsEvents> = {
  events: settingsEvents,
  stream: settingsStream,
  decider,
};
