import { z } from "zod";
import { Sealed } from "../../../events/core/sealed.ts";
import { MailKind, NotificationKind } from "../../../events/user/mail.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { findMail, listMails, type MailRow } from "../../../projections/user/mail.ts";
import { writeMail } from "../../../services/user/mail-text.ts";
import type { Deps } from "../../core/deps.ts";
import { listed } from "../../core/paging.ts";
import { type Route, route } from "../../core/route.ts";
import { instant, several } from "../../core/schema.ts";
import { toView } from "../../core/view.ts";

const common = { tag: "Administration", scope: "USER_WRITE", access: "admin" } as const;
const Status = z.enum(["WAITING", "SENT", "FAILED"]);

const fields = {
  id: z.uuid(),
  kind: MailKind,
  recipient: z.string().nullable().meta({ description: "Null when the person was forgotten." }),
  status: Status,
  failure: z
    .string()
    .nullable()
    .meta({ description: "Why it was not sent: `expired`, `forgotten`, `over` or `refused`." }),
  createdAt: instant(),
  expiresAt: instant(),
  finishedAt: instant().nullable(),
};
const Mail = z.object(fields).meta({ id: "Mail" });
const WholeMail = z
  .object({
    ...fields,
    subject: z.string().nullable(),
    text: z.string().nullable().meta({
      description:
        "With its link, for who has to pass it on by hand; null once it was sent or is of no use any more.",
    }),
  })
  .meta({ id: "WholeMail" });

const getMails = route({
  ...common,
  method: "get",
  path: "/admin/mail",
  operationId: "listMails",
  summary: "List the mails of the outbox",
  description: "The newest first, of the last 30 days.",
  query: z.object({ status: several(Status) }),
  list: "mailList",
  reply: Mail,
  handle: ({ query: { status: statuses }, page }, deps) =>
    listed(listMails(deps.db, { statuses, ...page }), (row) => viewOf(row, deps)),
});

const getMail = route({
  ...common,
  method: "get",
  path: "/admin/mail/{mailUuid}",
  operationId: "getMail",
  summary: "Get a mail of the outbox",
  reply: WholeMail,
  async handle({ params }, deps) {
    const row = await findMail(deps.db, params.mailUuid);
    if (row === undefined) throw new Refusal("not_found", "mail.not_found", "Mail not found.");
    const shown = await viewOf(row, deps);
    // On its way or arrived, the link is its reader's alone.
    const isNotification = NotificationKind.safeParse(row.kind).success;
    const waits = row.status === "WAITING" && row.expires_at > deps.now() && !deps.config.sendsMail;
    // Administrators of the instance may not read every project.
    if (!waits || isNotification || shown.recipient === null)
      return { ...shown, subject: null, text: null };
    const about = { kind: row.kind, holderId: row.holder_id, requestId: row.request_id };
    const written = await writeMail(deps, { ...about, expiresAt: row.expires_at });
    return { ...shown, subject: written?.subject ?? null, text: written?.text ?? null };
  },
});

async function viewOf(row: MailRow, { vault }: Deps): Promise<z.input<typeof Mail>> {
  return toView(Mail, row, { recipient: await vault.open(Sealed.parse(row.recipient)) });
}

export const mailRoutes: readonly Route[] = [getMail, getMails];
