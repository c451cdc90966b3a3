import type { Alias, UserId } from "../../events/core/ids.ts";
import type { Sealed } from "../../events/core/sealed.ts";

type Names = Readonly<{ alias: Alias; emailDigest: string }>;

/** A link that was sent to the person and not used yet. */
export type Link = Readonly<{ tokenHash: string; expiresAt: string }>;

export type UserState =
  | Readonly<{ status: "absent" }>
  | (Names &
      Readonly<{
        status: "active" | "banned" | "forgotten";
        userId: UserId;
        email: Sealed;
        confirmed: boolean;
        /** The person has read a mail to the address, or another service has proved it. */
        emailProved: boolean;
        /** Not so while they only ever came in by way of another service. */
        hasPassword: boolean;
        /** Null: the instance's. */
        allowedBytes: number | null;
        confirmation?: Link | undefined;
        /** `parts`: hashes of the links that are needed as well. */
        reset?: (Link & Readonly<{ parts: readonly string[] }>) | undefined;
        /** Replaced addresses, the oldest first; those whose window has ended may be among them. */
        formers: readonly FormerEmail[];
      }>);

export type ExistingUser = Exclude<UserState, { status: "absent" }>;

/** A replaced address that a link can still take back. */
export type FormerEmail = Link & Readonly<{ email: Sealed; emailDigest: string }>;
