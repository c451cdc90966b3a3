import type { Recorded } from "../../events/core/event.ts";
import type { ProjectId, WebhookId } from "../../events/core/ids.ts";
import type { WebhookTopic } from "../../events/webhook/webhook.ts";
import { type Addresses, transportUrls } from "../../projections/project/address.ts";
import type { ProjectRow } from "../../projections/project/project.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";

/** An event of a project that webhooks may subscribe to. */
export type Notification = Readonly<{
  projectId: ProjectId;
  topic: WebhookTopic;
  /** What the payload has beside `action`, `project_id` and `project`; made only for at least one subscriber. */
  fields: () => Promise<Readonly<Record<string, unknown>>>;
  /** A webhook that does not receive it: the one it is about. */
  exceptWebhookId?: WebhookId;
}>;

/** What one slice sends to webhooks. A later slice adds its own file and its line in the list. */
export type PayloadBuilder = Readonly<{
  /** Event types that it handles. */
  types: ReadonlySet<string>;
  /** Streams of a project that hold such events, for sending history again. */
  streams: (projectId: ProjectId, deps: WorkerDeps) => Promise<readonly string[]>;
  /** Undefined: nothing that webhooks receive. Called again for the same event it builds the same. */
  build: (event: Recorded, deps: WorkerDeps) => Promise<Notification | undefined>;
}>;

/** The JSON text of a payload, exactly as it is signed and sent. */
export function payloadText(
  topic: string,
  project: ProjectRow,
  fields: Readonly<Record<string, unknown>>,
  addresses: Addresses,
): string {
  return JSON.stringify({
    action: topic,
    project_id: project.id,
    project: projectView(project, addresses),
    ...fields,
  });
}

function projectView(project: ProjectRow, addresses: Addresses) {
  const { httpTransportUrl, sshTransportUrl } = transportUrls(project, addresses);
  return {
    project_id: project.id,
    title: project.title,
    alias: project.alias,
    owner_alias: project.owner_alias,
    owner_type: project.owner_type,
    http_transport_url: httpTransportUrl,
    ssh_transport_url: sshTransportUrl,
    language: project.language ?? "",
    private: project.is_private,
  };
}
