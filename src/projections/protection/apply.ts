import type { EventOf } from "../../events/core/event.ts";
import type { protectionEvents } from "../../events/protection/protection.ts";
import { type Change, statement } from "../core/change.ts";

type Requested = Extract<
  EventOf<typeof protectionEvents>,
  { type: "ProtectionApplyRequested" }
>["data"];

/** `deterministicId(applyId, id of the rule above, id of the project)` in SQL. */
const ruleId = `
  encode(set_byte(set_byte(digest, 6, (get_byte(digest, 6) & 15) | 128),
    8, (get_byte(digest, 8) & 63) | 128), 'hex')::uuid`;
const digest = `
  substring(sha256(convert_to(
    '36:' || :applyId || '36:' || above.id || '36:' || project.id, 'UTF8')) for 16)`;

/** Most forbidding first; null for a member that rules of the kind do not have. */
const strictest = (member: string): string => `
  case when 'NO_ONE' in (own.rule->>'${member}', above.rule->>'${member}') then 'NO_ONE'
    when 'ADMINS' in (own.rule->>'${member}', above.rule->>'${member}') then 'ADMINS'
    else above.rule->>'${member}' end`;

/** In each respect the stricter of both. */
const stricter = `
  above.rule || jsonb_strip_nulls(jsonb_build_object(
    'allowToCreate', ${strictest("allowToCreate")},
    'allowToDeploy', ${strictest("allowToDeploy")},
    'allowedToPush', ${strictest("allowedToPush")},
    'allowedToMerge', ${strictest("allowedToMerge")},
    'allowForcePush',
    (own.rule->>'allowForcePush')::boolean and (above.rule->>'allowForcePush')::boolean))`;

const apply = `
  with project as materialized (
    -- Of a team, or of a company and its teams.
    select id from protection_owner
    where is_project and (owner_id = :parentId
      or owner_id in (select id from protection_owner where not is_project and owner_id = :parentId))
  ), above as (
    select * from protection_rule where parent_id = :parentId and kind = :kind
  ), merged as (
    select own.id, case when :keepsStricter then ${stricter} else above.rule end as rule
    from protection_rule own join above on own.kind = above.kind and own.template = above.template
    where own.parent_id in (select id from project)
  ), replaced as (
    update protection_rule own set rule = merged.rule, apply_id = :applyId
    from merged where own.id = merged.id and own.rule <> merged.rule
  ), added as (
    insert into protection_rule
      (id, parent_id, parent_type, kind, template, rule, created_at, apply_id)
    select ${ruleId}, project_id, 'PROJECT', kind, template, rule, :requestedAt, :applyId
    from (
      select ${digest} as digest, project.id as project_id, above.*
      from above cross join project
      where not exists (
        select from protection_rule own
        where own.parent_id = project.id and own.kind = above.kind
          and own.template = above.template)
    ) missing
    on conflict (id) do nothing
  )
  insert into protection_apply (id, parent_id, kind, projects, applied_at)
  select :applyId, :parentId, :kind, count(*), :requestedAt from project
  on conflict (id) do nothing`;

/**
 * Gives all projects below the rules that the team or company has at this place of the log: one
 * statement, whatever their number. A rule of a project for the same template becomes the stricter of both in each
 * respect (in events of earlier releases as it is above), the others stay. New rules have the ids that a worker gave them when it wrote an event for
 * each, so the events of such a log meet these rows.
 */
export const applyToProjects = ({ requestedAt, keepsStricter = false, ...of }: Requested): Change =>
  statement(apply, {
    ...{ applyId: of.applyId, parentId: of.parentId, kind: of.kind },
    ...{ keepsStricter, requestedAt: new Date(requestedAt) },
  });
