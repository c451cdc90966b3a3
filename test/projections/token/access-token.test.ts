import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { accessTokenStream } from "../../../src/events/token/access-token.ts";
import {
  type AccessTokenRow,
  accessTokenProjection,
} from "../../../src/projections/token/access-token.ts";
import { at, history } from "../../support/app/history.ts";
import { context, project, reset } from "../../support/app/projection.ts";
import { testDatabase } from "../../support/store/database.ts";

const { db } = await testDatabase();

describe("the access token read model", () => {
  const userId = randomUUID();
  const tokenId = randomUUID();
  const stream = accessTokenStream(userId);
  const created = {
    type: "AccessTokenCreated",
    data: {
      tokenId,
      userId,
      kind: "ACCESS",
      name: "laptop",
      scopes: ["USER_READ", "PROJECT_WRITE"],
      tokenHash: "cafe",
      expiresAt: "2026-12-31T23:59:59.999Z",
      createdAt: at,
    },
  };
  const revoked = {
    type: "AccessTokenRevoked",
    data: { tokenId, revokedById: userId, revokedAt: at },
  };

  beforeEach(() => reset(db, accessTokenProjection));

  const stored = (token_hash: string) =>
    db<AccessTokenRow>("access_token").where({ token_hash }).first();

  it("finds a token by its hash, with its scopes and its last instant", async () => {
    await project(db, accessTokenProjection, history([stream, created]), context);
    const row = await stored("cafe");
    expect(row).to.deep.include({ id: tokenId, scopes: ["USER_READ", "PROJECT_WRITE"] });
    expect(row?.expires_at?.toISOString()).to.equal("2026-12-31T23:59:59.999Z");
    expect(await stored("beef")).to.equal(undefined);
  });

  it("loses a revoked token", async () => {
    const log = history([stream, created], [stream, revoked]);
    await project(db, accessTokenProjection, log, context);
    expect(await stored("cafe")).to.equal(undefined);
  });
});
