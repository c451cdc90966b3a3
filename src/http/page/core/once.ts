import { createHash, randomUUID } from "node:crypto";
import type { Context } from "koa";
import { z } from "zod";

import { invariant } from "../../../platform/invariant.ts";
import { Refusal } from "../../../platform/refusal.ts";
import type { Answer } from "../../core/answer.ts";
import type { Idempotency } from "../../core/idempotency.ts";
import type { OperationClientOptions } from "../../core/operation-client.ts";
import { stateOf } from "../../core/state.ts";
import { Html, html } from "./html.ts";
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
type Command = NonNullable<OperationClientOptions["command"]>;
type Sent = Readonly<{
  ctx: Context;
  route: PageRoute;
  fields: Fields;
  userId: string;
  /** In front of every path of ours. */
  base: string;
}>;

/**
 * Runs a form at most once for its key and what was typed. The second sending waits for the first and
 * leads where that led, or shows what that showed; what was refused may be sent again.
 */
export async function onceSent(
  { ctx, route, fields, userId, base }: Sent,
  idempotency: Idempotency,
  run: (command?: Command) => Promise<PageAnswer>,
): Promise<PageAnswer> {
  const key = fields[field];
  if (typeof key !== "string" || !keyForm.test(key)) return await run();
  let refused: unknown;
  let shown: PageAnswer | undefined;
  const { body } = await idempotency.once(
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
        shown = answer;
        if (isOutcome(answer)) return storedAnswer(answer, base);
      } catch (error) {
        if (!(error instanceof Refusal) || error.kind === "unavailable") throw error;
        refused = error;
      }
      return notStored;
    },
  );
  if (refused !== undefined) throw refused;
  return shown ?? again(body);
}

const digestOf = (value: unknown): string =>
  createHash("sha256").update(JSON.stringify(value)).digest("base64url");

/** Only answers that are texts are kept. */
const notStored = { status: 303, headers: {}, body: Buffer.alloc(0) };

type Outcome = Extract<PageAnswer, { title: string } | { redirect: string }>;

/** Where it leads, or a page that says what was done, as one with a new token; not one with a refusal. */
const isOutcome = (answer: PageAnswer): answer is Outcome =>
  "redirect" in answer ||
  ("title" in answer && (answer.status ?? 200) === 200 && answer.cookies === undefined);

const StoredAnswer = z.union([
  z.object({ redirect: z.string() }),
  z.object({
    title: z.string(),
    markup: z.string(),
    lead: z.string().optional(),
    wide: z.literal(true).optional(),
  }),
]);

/** As the body, which is sealed: a token may be in either. */
function storedAnswer(answer: Outcome, base: string): Answer {
  const outcome: z.input<typeof StoredAnswer> =
    "redirect" in answer
      ? { redirect: answer.redirect }
      : {
          ...{ title: answer.title, markup: answer.body(base).markup },
          ...{ lead: answer.lead?.(base).markup, wide: answer.wide },
        };
  return { status: 200, headers: {}, body: JSON.stringify(outcome) };
}

function again(body: Answer["body"]): PageAnswer {
  invariant(typeof body === "string", "an outcome is a text");
  // What a release before kept has no body; the form was sent, and its page says how it is now.
  if (body === "") return { redirect: "/console" };
  const outcome = StoredAnswer.parse(JSON.parse(body));
  if ("redirect" in outcome) return outcome;
  const { title, markup, lead, wide } = outcome;
  return {
    title,
    ...(lead !== undefined && { lead: () => new Html(lead) }),
    ...(wide && { wide }),
    body: () => new Html(markup),
  };
}
