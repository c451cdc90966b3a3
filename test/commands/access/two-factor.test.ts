import { twoFactor } from "../../../src/commands/access/two-factor.ts";
import type { twoFactorEvents } from "../../../src/events/access/two-factor.ts";
import type { EventOf } from "../../../src/events/core/event.ts";
import { UserId } from "../../../src/events/core/ids.ts";
import { Sealed } from "../../../src/events/core/sealed.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

type TwoFactorEvent = EventOf<typeof twoFactorEvents>;

const given = specify(twoFactor);
const userId = UserId.parse("0b9f2d3a-6f0e-4c35-8a9e-0d1f2a3b4c5d");
const secret = Sealed.parse(`sealed.user-${userId}.AAAA`);
const newer = Sealed.parse(`sealed.user-${userId}.BBBB`);

const prepare = { type: "PrepareTwoFactor", userId, secret, at } as const;
const prepared = (of = secret): TwoFactorEvent => ({
  type: "TwoFactorPrepared",
  data: { userId, secret: of, preparedAt: at },
});
const enable = { type: "EnableTwoFactor", secret, recoveryDigests: ["a", "b"], at } as const;
const enabled: TwoFactorEvent = {
  type: "TwoFactorEnabled",
  data: { recoveryDigests: ["a", "b"], enabledAt: at },
};
const use = (recoveryDigest: string) => ({ type: "UseRecoveryCode", recoveryDigest, at }) as const;
const used = (recoveryDigest: string): TwoFactorEvent => ({
  type: "RecoveryCodeUsed",
  data: { recoveryDigest, usedAt: at },
});
const renew = { type: "RenewRecoveryCodes", recoveryDigests: ["c"], at } as const;
const renewed: TwoFactorEvent = {
  type: "RecoveryCodesRenewed",
  data: { recoveryDigests: ["c"], renewedAt: at },
};
const disable = { type: "DisableTwoFactor", by: userId, at } as const;
const disabled: TwoFactorEvent = {
  type: "TwoFactorDisabled",
  data: { disabledById: userId, disabledAt: at },
};

describe("a second factor", () => {
  it("is prepared as often as one likes, until it is on", () => {
    given().when(prepare).gives(prepared());
    given(prepared(newer)).when(prepare).gives(prepared());
    given(prepared(), enabled).when(prepare).refuses("two_factor.enabled");
  });

  it("is switched on by the secret that was prepared last", () => {
    given(prepared()).when(enable).gives(enabled);
    given(prepared(), prepared(newer)).when(enable).refuses("two_factor.prepared_anew");
    given().when(enable).refuses("two_factor.prepared_anew");
    given(prepared(), enabled).when(enable).refuses("two_factor.enabled");
  });

  it("takes each recovery code once", () => {
    given(prepared(), enabled).when(use("a")).gives(used("a"));
    given(prepared(), enabled, used("a")).when(use("a")).refuses("auth.otp_wrong");
    given(prepared(), enabled, used("a")).when(use("b")).gives(used("b"));
    given(prepared(), enabled).when(use("x")).refuses("auth.otp_wrong");
    given(prepared()).when(use("a")).refuses("two_factor.not_enabled");
  });

  it("gets new recovery codes in the place of the old", () => {
    given(prepared(), enabled).when(renew).gives(renewed);
    given(prepared(), enabled, renewed).when(use("a")).refuses("auth.otp_wrong");
    given(prepared()).when(renew).refuses("two_factor.not_enabled");
  });

  it("is switched off, and begins anew after it", () => {
    given(prepared(), enabled).when(disable).gives(disabled);
    given().when(disable).givesNothing();
    given(prepared(), enabled, disabled).when(use("a")).refuses("two_factor.not_enabled");
    given(prepared(), enabled, disabled).when(prepare).gives(prepared());
  });
});
