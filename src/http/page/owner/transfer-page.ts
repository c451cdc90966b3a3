import { z } from "zod";
import { Uuid } from "../../../events/core/ids.ts";
import { TransferView } from "../../api/team/transfer-offer.ts";
import { button, simpleAct } from "../common/form.ts";
import { PageNumber, pager, pageSize } from "../common/pager.ts";
import { brief, empty, seen, when } from "../common/piece.ts";
import { besides } from "../common/project-page.ts";
import { baseOf } from "../common/text.ts";
import { html } from "../core/html.ts";
import { type PageRoute, page } from "../core/route.ts";
import { row, tableOf } from "../core/table.ts";

const at = "/user/transfer";

/** Where the mail about an offer leads. */
const showTransfers = page({
  ...besides,
  path: at,
  operationId: "showTransfers",
  query: z.object({ page: PageNumber }),
  async handle({ query: { page: number }, visit }, deps) {
    const input = { page: { number, size: pageSize } };
    const listed = await visit.operations.list("listTransfers", TransferView, input);
    const base = baseOf(deps);
    const to = (id: string, verb: string) => `${base}/page${at}/${id}/${verb}`;
    const rows = listed.items.map(({ id, type, title, alias, ownerAlias, ...offer }) =>
      row(
        html`${type.toLowerCase()} ${seen(type === "PROJECT" ? `${ownerAlias}/${alias}` : alias)}`,
        brief(title),
        seen(offer.offeredBy),
        when(offer.expiresAt),
        html`<div class="actions">${button(to(id, "accept"), visit, "Accept", { kind: "" })}${button(to(id, "decline"), visit, "Decline")}</div>`,
      ),
    );
    const head = ["Offered", "Title", "By", "Until", ""];
    return {
      title: "Offered to me",
      wide: true,
      body: () => html`<section><p>Projects and teams that others want to give to you. What you accept is yours at once.</p>
${rows.length === 0 ? empty("Nothing is offered to you.", "A mail comes when it is.") : tableOf("Offers", head, rows)}
${pager({ address: base + at, number, total: listed.totalElements })}</section>`,
    };
  },
});

const answer = (verb: "accept" | "decline"): PageRoute =>
  simpleAct({
    path: `${at}/{transferUuid}/${verb}`,
    operationId: `${verb}TransferByPage`,
    params: z.object({ transferUuid: Uuid }),
    apiOperation: `${verb}Transfer`,
    back: () => at,
  });

export const transferPages: readonly PageRoute[] = [
  answer("accept"),
  answer("decline"),
  showTransfers,
];
