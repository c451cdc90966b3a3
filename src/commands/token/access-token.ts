import type { AccessTokenId, UserId } from "../../events/core/ids.ts";
import {
  accessTokenEvents,
  accessTokenStream,
  type Scope,
  type TokenKind,
} from "../../events/token/access-token.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";

export type AccessTokenCommand =
  | Readonly<{
      type: "CreateAccessToken";
      tokenId: AccessTokenId;
      userId: UserId;
      kind: TokenKind;
      name: string;
      scopes: readonly Scope[];
      tokenHash: string;
      expiresAt: string | null;
      at: string;
    }>
  | Readonly<{ type: "RevokeAccessToken"; tokenId: AccessTokenId; by: UserId; at: string }>;

/** Name by token id, of the tokens not revoked. */
type State = Readonly<{ names: ReadonlyMap<string, string> }>;

export const accessToken: Slice<State, AccessTokenCommand, typeof accessTokenEvents> = {
  events: accessTokenEvents,
  stream: accessTokenStream,
  initialState: { names: new Map() },

  decide(state, command) {
    switch (command.type) {
      case "CreateAccessToken": {
        if ([...state.names.values()].includes(command.name)) {
          throw nameTaken();
        }
        const { type: _, at: createdAt, scopes, ...rest } = command;
        return [
          {
            type: "AccessTokenCreated",
            data: { ...rest, scopes: [...new Set(scopes)], createdAt },
          },
        ];
      }
      case "RevokeAccessToken":
        if (!state.names.has(command.tokenId)) return [];
        return [
          {
            type: "AccessTokenRevoked",
            data: { tokenId: command.tokenId, revokedById: command.by, revokedAt: command.at },
          },
        ];
      default:
        return unreachable(command);
    }
  },

  evolve({ names }, event) {
    switch (event.type) {
      case "AccessTokenCreated":
        return { names: new Map(names).set(event.data.tokenId, event.data.name) };
      case "AccessTokenRevoked": {
        const remaining = new Map(names);
        remaining.delete(event.data.tokenId);
        return { names: remaining };
      }
      default:
        return unreachable(event);
    }
  },
};

function nameTaken(): Refusal {
  const message = "You already have a token of this name.";
  return new Refusal("unprocessable", "token.name_taken", message, {
    errors: [{ field: "name", code: "token.name_taken", message }],
  });
}
