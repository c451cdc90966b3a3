import type { Knex } from "knex";

/** What proxies have fetched and keep: a cache, that may be emptied at any time; see src/http/protocol/package/proxy. */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    create table public.proxy_content (
      repository_id text not null,
      path text not null,
      sha256 text not null,
      bytes bigint not null,
      content_type text not null,
      etag text not null,
      checked_at timestamptz not null,
      used_at timestamptz not null,
      primary key (repository_id, path)
    )
  `);
  await db.raw("create index on public.proxy_content (sha256)");
}

export async function down(db: Knex): Promise<void> {
  await db.raw("drop table public.proxy_content");
}
