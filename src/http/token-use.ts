import type { Knex } from "knex";
import type { Logger } from "pino";

/** A token that is busy is noted this often. */
const everyMs = 60_000;
const tokensMax = 10_000;

export type TokenUseRow = Readonly<{ token_id: string; used_at: Date }>;

/** Notes that a token was used, once a minute at most, beside the request that used it. */
export type NoteUse = (tokenId: string) => void;

export function tokenUse(db: Knex, log: Logger, now: () => Date): NoteUse {
  const noted = new Map<string, number>();
  return (tokenId) => {
    const at = now();
    const last = noted.get(tokenId);
    if (last !== undefined && at.getTime() - last < everyMs) return;
    if (noted.size >= tokensMax) noted.clear();
    noted.set(tokenId, at.getTime());
    void write(db, { token_id: tokenId, used_at: at }).catch((error: unknown) => {
      log.debug({ err: error }, "use of a token was not noted");
    });
  };
}

async function write(db: Knex, row: TokenUseRow): Promise<void> {
  await db<TokenUseRow>("public.token_use")
    .insert(row)
    .onConflict("token_id")
    .merge({ used_at: db.raw("greatest(token_use.used_at, excluded.used_at)") });
}

/** When each of these tokens was last seen; those never seen are left out. */
export async function usesOf(
  db: Knex,
  tokenIds: readonly string[],
): Promise<ReadonlyMap<string, Date>> {
  const rows = await db<TokenUseRow>("public.token_use").whereIn("token_id", [...tokenIds]);
  return new Map(rows.map(({ token_id, used_at }) => [token_id, used_at]));
}
