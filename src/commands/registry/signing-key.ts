import {
  type RegistrySigningKeyEvent,
  registrySigningKeyEvents,
  registrySigningKeyStream,
} from "../../events/registry/signing-key.ts";
import type { Slice } from "../core/decider.ts";

export type RegistrySigningKeyCommand = Readonly<{
  type: "CreateRegistrySigningKey";
  key: RegistrySigningKeyEvent["data"];
}>;

export type RegistrySigningKeyState = Readonly<{ exists: boolean }>;

export const registrySigningKey: Slice<
  RegistrySigningKeyState,
  RegistrySigningKeyCommand,
  typeof registrySigningKeyEvents
> = {
  events: registrySigningKeyEvents,
  stream: registrySigningKeyStream,
  initialState: { exists: false },

  decide({ exists }, { key }) {
    // Who comes second uses the key of the first: clients trust one.
    return exists ? [] : [{ type: "RegistrySigningKeyCreated", data: key }];
  },

  evolve: () => ({ exists: true }),
};
