import type { EventOf } from "../../events/core/event.ts";
import type { protectionEvents } from "../../events/protection/protection.ts";
import type { Tx } from "../core/projection.ts";

type Requested = Extract<
  EventOf<typeof protectionEvents>,
  { type: "ProtectionApplyRequested" }
>["data"];

/** Projects of a team, or of a company and its teams; `:parentId`. */
const projectsBelow = `
  select id from protection_owner
    where is_project and (owner_id = :parentId
      or owner_id in (select id from protection_owner where not is_project and owner_id = :parentId))`;

/** `deterministicId(applyId, id of the rule above, id of the project)` in SQL. */
const ruleId = `
  encode(set_byte(set_byte(digest, 6, (get_byte(digest, 6) & 15) | 128),
    8, (get_byte(digest, 8) & 63) | 128), 'hex')::uuid`;
const digest = `
  substring(sha256(convert_to(
    '36:' || :applyId || '36:' || above.id || '36:' || project.id, 'UTF8')) for 16)`;

/**
 * Gives all projects below the rules that the team or company has at this place of the log: two
 * statements, whatever their number. A rule of a project for the same template becomes as it is
 * above, the others stay. New rules have the ids that a worker gave them when it wrote an event for
 * each, so the events of such a log meet these rows.
 */
export async function applyToProjects(tx: Tx, requested: Requested): Promise<void> {
  const { applyId, parentId, kind, requestedAt } = requested;
  const bindings = { applyId, parentId, kind, requestedAt: new Date(requestedAt) };
  await tx.raw(
    `update protection_rule own set rule = above.rule, apply_id = :applyId
      from protection_rule above
      where above.parent_id = :parentId and above.kind = :kind
        and own.kind = above.kind and own.template = above.template and own.rule <> above.rule
        and own.parent_id in (${projectsBelow})`,
    bindings,
  );
  await tx.raw(
    `insert into protection_rule
        (id, parent_id, parent_type, kind, template, rule, created_at, apply_id)
      select ${ruleId}, project_id, 'PROJECT', kind, template, rule, :requestedAt, :applyId
      from (
        select ${digest} as digest, project.id as project_id, above.*
        from protection_rule above cross join (${projectsBelow}) project
        where above.parent_id = :parentId and above.kind = :kind and not exists (
          select from protection_rule own
          where own.parent_id = project.id and own.kind = above.kind
            and own.template = above.template)
      ) missing
      on conflict (id) do nothing`,
    bindings,
  );
  await tx.raw(
    `insert into protection_apply (id, parent_id, kind, projects, applied_at)
      select :applyId, :parentId, :kind, count(*), :requestedAt from (${projectsBelow}) project
      on conflict (id) do nothing`,
    bindings,
  );
}
