import { createHash, randomUUID } from "node:crypto";
import type { Context } from "koa";

import { Refusal } from "../../platform/refusal.ts";
import type { AskAs } from "../core/ask.ts";
import type { Idempotency } from "../core/idempotency.ts";
import { stateOf } from "../core/state.ts";
import { type Html, html } from "./html.ts";
import { csrfField } from "./layout.ts";
import type { PageAnswer, PageRoute, Visit } from "./route.ts";

const field = "once";
const keyForm = /^[\da-f-]{36}$/;

/** Begins a form that changes something: the same form sent twice has one outcome. */
export const formStart = ({ csrf }: Pick<Visit, "csrf">): Html =>
  html`${csrfField(csrf)}<input type="hidden" name="${field}" value="${randomUUID()}">`;

/** Without what `formStart` puts into a form. */
export function withoutStart<Fields extends Readonly<Record<string, unknown>>>(fields: Fields) {
  const { csrf: _, [field]: __, ...typed } = fields;
  return typed;
}

type Fields = Readonly<Record<string, unknown>>;
type Command = NonNullable<AskAs["command"]>;
type Sent = Readonly<{ ctx: Context; route: PageRoute; fields: Fields; userId: string }>;

/**
 * Runs a form at most once for its key and what was typed. The second sending waits for the first and
 * leads where that led; what was refused may be sent again.
 */
export async function onceSent(
  { ctx, route, fields, userId }: Sent,
  idempotency: Idempotency,
  run: (command?: Command) => Promise<PageAnswer>,
): Promise<PageAnswer> {
  const key = fields[field];
  if (typeof key !== "string" || !keyForm.test(key)) return await run();
  let refused: unknown;
  let shown: PageAnswer | undefined;
  const { headers } = await idempotency.once(
    {
      callerId: userId,
      operationId: route.operationId,
      // Another text in the same form, after the way back in the browser, is another sending.
      key: `${key}.${digestOf([ctx.path, withoutStart(fields)])}`,
      request: [ctx.path],
      url: ctx.originalUrl,
      requestId: stateOf(ctx).requestId,
      repeatable: true,
    },
    async (commandId, progress) => {
      try {
        const answer = await run({ id: commandId, progress });
        if ("redirect" in answer) return leadsTo(answer.redirect);
        shown = answer;
      } catch (error) {
        if (!(error instanceof Refusal) || error.kind === "unavailable") throw error;
        refused = error;
      }
      return notKept;
    },
  );
  if (refused !== undefined) throw refused;
  return shown ?? { redirect: headers["Location"] ?? "/console" };
}

const digestOf = (value: unknown): string =>
  createHash("sha256").update(JSON.stringify(value)).digest("base64url");

const leadsTo = (address: string) => ({ status: 303, headers: { Location: address }, body: "" });

/** Only answers that are texts are kept. */
const notKept = { status: 303, headers: {}, body: Buffer.alloc(0) };
