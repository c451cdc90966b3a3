import type { Knex } from "knex";

/**
 * Uploads of container blobs that are under way, with the chunks that are durable, and the blobs that an image
 * has before a manifest names them; see src/platform/container.
 */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    create table public.container_upload (
      id uuid primary key,
      registry_id text not null,
      package_id uuid not null,
      user_id text not null,
      bytes bigint not null,
      chunks integer not null,
      expires_at timestamptz not null
    )
  `);
  await db.raw("create index on public.container_upload (expires_at)");
  await db.raw("create index on public.container_upload (user_id)");
  await db.raw("create index on public.container_upload (registry_id)");
  await db.raw(`
    create table public.container_upload_chunk (
      upload_id uuid not null references public.container_upload (id) on delete cascade,
      number integer not null,
      sha256 text not null,
      bytes bigint not null,
      primary key (upload_id, number)
    )
  `);
  await db.raw("create index on public.container_upload_chunk (sha256)");
  await db.raw(`
    create table public.container_blob (
      package_id uuid not null,
      digest text not null,
      registry_id text not null,
      sha256 text not null,
      bytes bigint not null,
      held_until timestamptz not null,
      primary key (package_id, digest)
    )
  `);
  await db.raw("create index on public.container_blob (registry_id, digest)");
  await db.raw("create index on public.container_blob (sha256)");
  await db.raw("create index on public.container_blob (held_until)");
}

export async function down(db: Knex): Promise<void> {
  await db.raw("drop table public.container_blob");
  await db.raw("drop table public.container_upload_chunk");
  await db.raw("drop table public.container_upload");
}
