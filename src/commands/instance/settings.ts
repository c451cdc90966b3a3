import type { UserId } from "../../events/core/ids.ts";
import {
  type Settings,
  settingsDefaults,
  settingsEvents,
  settingsStream,
} from "../../events/instance/settings.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";
import { defined } from "../core/defined.ts";

/** An undefined value stays what it was. */
export type SettingsChanges = { readonly [Name in keyof Settings]?: Settings[Name] | undefined };

export type SettingsCommand = Readonly<{
  type: "ChangeSettings";
  changes: SettingsChanges;
  /** Whether an administrator has a token that lasts: with it settings can be changed back. */
  administratorToken: boolean;
  /** Null: at the machine. */
  by: UserId | null;
  at: string;
}>;

export const settings: Slice<Settings, SettingsCommand, typeof settingsEvents> = {
  events: settingsEvents,
  stream: settingsStream,
  initialState: settingsDefaults,

  decide(state, command) {
    switch (command.type) {
      case "ChangeSettings": {
        const changes = differing(state, command.changes);
        if (Object.keys(changes).length === 0) return [];
        const closed = !hasWayIn(withChanges(state, changes));
        if (closed && hasWayIn(state) && !command.administratorToken) throw noWayIn();
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

function hasWayIn(settings: Settings): boolean {
  const { enableBasicAuth, enableBasicLoginPage, enableLdapLoginPage } = settings;
  const { enableSamlLoginPage, enableOidcLoginPage } = settings;
  const own = enableBasicAuth || enableBasicLoginPage;
  return own || enableLdapLoginPage || enableSamlLoginPage || enableOidcLoginPage;
}

function noWayIn(): Refusal {
  const message =
    "Nobody could log in any more. Keep a login page or Basic authentication, or make an administrator's token with USER_WRITE and without a last day first.";
  return new Refusal("unprocessable", "settings.no_way_in", message);
}

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
