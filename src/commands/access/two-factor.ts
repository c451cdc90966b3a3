import { twoFactorEvents, twoFactorStream } from "../../events/access/two-factor.ts";
import type { UserId } from "../../events/core/ids.ts";
import type { Sealed } from "../../events/core/sealed.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";

export type TwoFactorCommand =
  | Readonly<{ type: "PrepareTwoFactor"; userId: UserId; secret: Sealed; at: string }>
  /** `secret` is the one whose code was shown to be right. */
  | Readonly<{
      type: "EnableTwoFactor";
      secret: string;
      recoveryDigests: readonly string[];
      at: string;
    }>
  | Readonly<{ type: "RenewRecoveryCodes"; recoveryDigests: readonly string[]; at: string }>
  | Readonly<{ type: "UseRecoveryCode"; recoveryDigest: string; at: string }>
  | Readonly<{ type: "DisableTwoFactor"; by: UserId; at: string }>;

export type TwoFactorState =
  | Readonly<{ status: "off" }>
  | Readonly<{ status: "prepared"; secret: Sealed }>
  | Readonly<{ status: "on"; secret: Sealed; unused: ReadonlySet<string> }>;

export const twoFactor: Slice<TwoFactorState, TwoFactorCommand, typeof twoFactorEvents> = {
  events: twoFactorEvents,
  stream: twoFactorStream,
  initialState: { status: "off" },

  decide(state, command) {
    switch (command.type) {
      case "PrepareTwoFactor": {
        if (state.status === "on") throw enabledAlready();
        const { userId, secret, at: preparedAt } = command;
        return [{ type: "TwoFactorPrepared", data: { userId, secret, preparedAt } }];
      }
      case "EnableTwoFactor": {
        if (state.status === "on") throw enabledAlready();
        if (state.status === "off" || state.secret !== command.secret) {
          const message = "The secret was replaced meanwhile. Request a new secret.";
          throw new Refusal("conflict", "two_factor.prepared_anew", message);
        }
        const data = { recoveryDigests: [...command.recoveryDigests], enabledAt: command.at };
        return [{ type: "TwoFactorEnabled", data }];
      }
      case "RenewRecoveryCodes": {
        mustBeOn(state);
        const data = { recoveryDigests: [...command.recoveryDigests], renewedAt: command.at };
        return [{ type: "RecoveryCodesRenewed", data }];
      }
      case "UseRecoveryCode": {
        const { recoveryDigest, at: usedAt } = command;
        if (!mustBeOn(state).unused.has(recoveryDigest)) throw wrongCode();
        return [{ type: "RecoveryCodeUsed", data: { recoveryDigest, usedAt } }];
      }
      case "DisableTwoFactor": {
        if (state.status === "off") return [];
        const { by: disabledById, at: disabledAt } = command;
        return [{ type: "TwoFactorDisabled", data: { disabledById, disabledAt } }];
      }
      default:
        return unreachable(command);
    }
  },

  evolve(state, event) {
    switch (event.type) {
      case "TwoFactorPrepared":
        return { status: "prepared", secret: event.data.secret };
      case "TwoFactorEnabled":
      case "RecoveryCodesRenewed": {
        if (state.status === "off") return state;
        const { secret } = state;
        return { status: "on", secret, unused: new Set(event.data.recoveryDigests) };
      }
      case "RecoveryCodeUsed": {
        if (state.status !== "on") return state;
        const unused = new Set(state.unused);
        unused.delete(event.data.recoveryDigest);
        return { ...state, unused };
      }
      case "TwoFactorDisabled":
        return { status: "off" };
      default:
        return unreachable(event);
    }
  },
};

function mustBeOn(state: TwoFactorState): Extract<TwoFactorState, { status: "on" }> {
  if (state.status === "on") return state;
  throw new Refusal("conflict", "two_factor.not_enabled", "Two-factor login is not set up.");
}

function enabledAlready(): Refusal {
  const message = "Two-factor login is set up already. Switch it off first.";
  return new Refusal("conflict", "two_factor.enabled", message);
}

function wrongCode(): Refusal {
  return new Refusal("forbidden", "auth.otp_wrong", "The code is wrong or was used before.");
}
