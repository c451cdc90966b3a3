import type { Knex } from "knex";

import { partPattern } from "../list/folded.ts";
import { type ListedFile, listedFiles } from "./registry.ts";
import type { PackageRow } from "./table.ts";

/** What the indexes of a registry are made from is at this revision, since that time. */
export type RegistryRevision = Readonly<{ id: string; revision: bigint; changed_at: Date | null }>;

/** By id, in no particular order. A registry that nothing was stored in yet is at revision 0. */
export async function registryRevisions(
  db: Knex,
  ids: readonly string[],
): Promise<ReadonlyMap<string, RegistryRevision>> {
  const rows = await db<RegistryRevision>("package_registry")
    .whereRaw("id = any(?::text[])", [[...ids]])
    .select("id", "revision", "changed_at");
  return new Map(rows.map((row) => [row.id, row]));
}

export type PackageWithFiles = Readonly<{ row: PackageRow; files: readonly ListedFile[] }>;

const pagePackages = 200;

/**
 * All packages of a registry by name, with the files of the versions that are not deleted, in the order in
 * which the versions were created. Some packages are in memory at a time.
 */
export async function* packagesWithFiles(
  db: Knex,
  registryId: string,
): AsyncGenerator<PackageWithFiles> {
  for (let after: PackageRow | undefined; ; ) {
    const rows: readonly PackageRow[] = await db<PackageRow>("package")
      .where("registry_id", registryId)
      .whereRaw("is_live")
      .modify((query) => {
        if (after !== undefined)
          query.whereRaw("(name, id) > (?, ?::uuid)", [after.name, after.id]);
      })
      .orderBy(["name", "id"])
      .limit(pagePackages);
    const files = await filesOfPackages(db, rows);
    for (const row of rows) {
      const own = files.get(row.id);
      if (own !== undefined) yield { row, files: own };
    }
    after = rows.at(-1);
    if (after === undefined || rows.length < pagePackages) return;
  }
}

async function filesOfPackages(
  db: Knex,
  rows: readonly PackageRow[],
): Promise<ReadonlyMap<string, readonly ListedFile[]>> {
  const ids = rows.map(({ id }) => id);
  const files: readonly ListedFile[] = await listedFiles(db)
    .whereRaw("version.package_id = any(?::uuid[])", [ids])
    .orderBy(["version.package_id", "version.created_position", "version.id", "file.name"]);
  const found = new Map<string, ListedFile[]>();
  for (const file of files) {
    const own = found.get(file.package_id);
    if (own === undefined) found.set(file.package_id, [file]);
    else own.push(file);
  }
  return found;
}

export type PackageSearch = Readonly<{
  registryIds: readonly string[];
  /** Each is in the name of the package or in what its files say, without regard to case. */
  words: readonly string[];
  /** Only the names count. */
  inNames?: boolean;
  /** Without regard to case. */
  name?: string | undefined;
  traits?: readonly string[];
  withoutTraits?: readonly string[];
  limit: number;
  offset: number;
}>;

const wordsMax = 10;

/**
 * Names of packages with a version that is neither deleted nor yanked and has what is wanted, each once for all of the
 * registries, best first: those with the words in their names, in titles and tags, in descriptions.
 */
export async function searchPackages(db: Knex, search: PackageSearch): Promise<FoundNames> {
  const { registryIds, inNames = false, name, limit, offset } = search;
  const { traits = [], withoutTraits = [] } = search;
  const words = search.words.slice(0, wordsMax).map((word) => word.toLowerCase());
  type Row = Readonly<{ names: readonly string[]; total: string }>;
  const { rows } = await db.raw<{ rows: readonly Row[] }>(
    `with fitting as materialized (
       select lower(p.name) as key, min(p.name) as name, max(
           case when lower(p.name) = ? then 10000 when starts_with(lower(p.name), ?) then 1000 else 0 end
           + (select coalesce(sum(
                case when strpos(lower(p.name), word) > 0 then 100
                  when strpos(split_part(f.words, E'\\n', 1), word) > 0 then 10 else 1 end), 0)
              from unnest(?::text[]) as word)) as score
         from package p
         join package_version v on v.package_id = p.id
         join package_file f on f.package_version_id = v.id
        where p.registry_id = any(?::text[]) and p.is_live
          and v.deleted_at is null and v.yank_reason is null
          and f.words is not null and f.unreadable is null
          and (?::text is null or lower(p.name) = ?)
          and not exists (
            select from unnest(?::text[]) as word
             where strpos(lower(p.name), word) = 0 and (? or strpos(f.words, word) = 0))
          and not exists (
            select from unnest(?::text[]) as trait where strpos(f.traits, ' ' || trait || ' ') = 0)
          and not exists (
            select from unnest(?::text[]) as trait where strpos(f.traits, ' ' || trait || ' ') > 0)
        group by lower(p.name))
     select (select count(*) from fitting) as total,
            array(select name from fitting order by score desc, key limit ? offset ?) as names`,
    [
      ...[words.join(" "), words.join(" "), words, [...registryIds]],
      ...[name?.toLowerCase() ?? null, name?.toLowerCase() ?? null, words, inNames],
      ...[[...traits], [...withoutTraits], limit, offset],
    ],
  );
  return { names: rows[0]?.names ?? [], total: Number(rows[0]?.total ?? 0) };
}

/** What a query of a person is looked for by. */
export const wordsIn = (text: string): readonly string[] =>
  text.split(/\s+/).filter((word) => word !== "");

export type NameSearch = Readonly<{ registryIds: readonly string[]; text: string }> &
  Readonly<{ limit: number; offset: number }>;

export type FoundNames = Readonly<{ names: readonly string[]; total: number }>;

/** Names of packages with versions, without regard to case, each once for all of the registries. */
export async function searchNames(
  db: Knex,
  { registryIds, text, limit, offset }: NameSearch,
): Promise<FoundNames> {
  type Row = Readonly<{ names: readonly string[]; total: string }>;
  // The total is wanted beyond the last page as well: what others find comes behind it.
  const { rows } = await db.raw<{ rows: readonly Row[] }>(
    `with found as materialized (
       select lower(p.name) as key, min(p.name) as name
         from package p
        where p.registry_id = any(?::text[]) and p.is_live and public.folded(p.name) ~ ?
        group by lower(p.name))
     select (select count(*) from found) as total,
            array(select name from found order by key limit ? offset ?) as names`,
    [[...registryIds], partPattern(text), limit, offset],
  );
  return { names: rows[0]?.names ?? [], total: Number(rows[0]?.total ?? 0) };
}
