import { decode } from "../../events/core/decode.ts";
import { ProjectId } from "../../events/core/ids.ts";
import {
  type MembershipEvent,
  membershipEvents,
  membershipStream,
} from "../../events/team/membership.ts";
import type { WebhookTopic } from "../../events/webhook/webhook.ts";
import { findUserById } from "../../projections/user/user.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import type { PayloadBuilder } from "./payload.ts";

/** COLLABORATOR_*: who comes to a project, goes, or gets another role there. */
export const memberPayload: PayloadBuilder = {
  types: new Set(Object.keys(membershipEvents)),
  streams: async (projectId) => [membershipStream(projectId)],
  async build(recorded, deps) {
    const event = decode(membershipEvents, recorded);
    // Teams and companies have no webhooks.
    if (event.data.parentType !== "PROJECT") return undefined;
    return {
      projectId: ProjectId.parse(event.data.parentId),
      topic: topicOf[event.type],
      fields: () => fieldsOf(event, deps),
    };
  },
};

const topicOf: Readonly<Record<MembershipEvent["type"], WebhookTopic>> = {
  MemberAdded: "COLLABORATOR_ADD",
  MemberRoleChanged: "COLLABORATOR_UPDATE",
  MemberRemoved: "COLLABORATOR_DELETE",
};

async function fieldsOf(event: MembershipEvent, { db }: WorkerDeps) {
  const { data } = event;
  const collaborator = {
    user_id: data.userId,
    user_alias: await aliasOf(db, data.userId),
    role: data.role,
    ...(event.type === "MemberRoleChanged" ? { old_role: event.data.previousRole } : {}),
  };
  const initiatorId = initiatorOf(event);
  return { collaborator, initiator: { id: initiatorId, name: await aliasOf(db, initiatorId) } };
}

function initiatorOf(event: MembershipEvent): string {
  if (event.type === "MemberAdded") return event.data.addedById;
  return event.type === "MemberRemoved" ? event.data.removedById : event.data.changedById;
}

async function aliasOf(db: WorkerDeps["db"], id: string): Promise<string> {
  return (await findUserById(db, id))?.alias ?? "";
}
