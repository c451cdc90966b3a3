import { z } from "zod";
import type { Settings } from "../../events/instance/settings.ts";
import { linkPaths } from "../../workers/user/mail-text.ts";
import { check, invalid, nameLengthMax } from "../core/schema.ts";
import { type Html, html } from "../page/html.ts";
import { csrfField, notice } from "../page/layout.ts";
import { type PageAnswer, type PageRoute, page, type Visit } from "../page/route.ts";
import { showingRefusals } from "../page/shown-refusal.ts";
import { accept } from "../user/invitation.ts";
import { Registration, register } from "../user/registration.ts";
import { Email } from "../user/user.ts";
import {
  ask,
  confirm,
  type RecoveryCommandType,
  ResetForm,
  reset,
  takeBack,
} from "./account-link.ts";

/** The pages that the links of mails lead to, and those where users request such mails. */

const Token = z.string().max(200).catch("");
const Shown = z.object({ token: Token.optional() });

type Form = Readonly<{
  title: string;
  path: string;
  button: string;
  fields: Html;
  intro?: string;
  wrong?: string | undefined;
}>;

/** One form on a page; what it changes is changed by its button alone, never by opening the page. */
function formPage(visit: Visit, { title, path, button, fields, intro, wrong }: Form): PageAnswer {
  return {
    title,
    status: wrong === undefined ? 200 : 422,
    body: (base) => html`<div class="narrow">
${notice(wrong)}
<div class="card">
${intro !== undefined && html`<p>${intro}</p>`}
<form method="post" action="${base}${path}">
${csrfField(visit.csrf)}
${fields}
<button class="wide">${button}</button>
</form>
</div>
</div>`,
  };
}

const donePage = (title: string, text: string): PageAnswer => ({
  title,
  body: (base) =>
    html`<div class="narrow">${notice(text, "done")}<p><a href="${base}/login">Log in</a></p></div>`,
});

const hiddenToken = (token: string) => html`<input type="hidden" name="token" value="${token}">`;

const field = (name: string, label: string, type: string, complete: string, value = "") =>
  html`<div class="field">
<label for="${name}">${label}</label>
<input type="${type}" id="${name}" name="${name}" value="${value}" autocomplete="${complete}" required>
</div>`;

const newPassword = [
  field("password", "New password", "password", "new-password"),
  field("passwordConfirm", "The same again", "password", "new-password"),
];

/** Refusals that a user can act on are shown beside the form. */
const tellingRefusals = (
  form: (wrong: string) => PageAnswer,
  run: () => Promise<PageAnswer>,
): Promise<PageAnswer> => showingRefusals(["unprocessable", "forbidden"], run, form);

function checked<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const result = check(schema, value);
  if (!result.ok) throw invalid(result.errors);
  return result.data;
}

const confirmPath = linkPaths.EMAIL_CONFIRMATION;
const confirmForm = (visit: Visit, token: string, wrong?: string) =>
  formPage(visit, {
    title: "Confirm your e-mail",
    path: confirmPath,
    button: "Confirm",
    fields: hiddenToken(token),
    wrong,
  });

const showConfirm = page({
  method: "get",
  path: confirmPath,
  operationId: "showEmailConfirmation",
  access: "anonymous",
  query: Shown,
  handle: async ({ query, visit }) => confirmForm(visit, query.token ?? ""),
});

const submitConfirm = page({
  method: "post",
  path: confirmPath,
  operationId: "confirmEmailByPage",
  access: "anonymous",
  form: Shown,
  handle: ({ form, visit }, deps) => {
    const token = form.token ?? "";
    return tellingRefusals(
      (wrong) => confirmForm(visit, token, wrong),
      async () => {
        await confirm(token, visit, deps);
        return donePage("E-mail confirmed", "Your e-mail address is confirmed.");
      },
    );
  },
});

const takeBackPath = linkPaths.EMAIL_TAKE_BACK;
const takeBackForm = (visit: Visit, token: string, wrong?: string) =>
  formPage(visit, {
    title: "Take your e-mail address back",
    path: takeBackPath,
    button: "Take back",
    intro: "Your account gets the address back that this link was sent to.",
    fields: hiddenToken(token),
    wrong,
  });

const showTakeBack = page({
  method: "get",
  path: takeBackPath,
  operationId: "showEmailTakeBack",
  access: "anonymous",
  query: Shown,
  handle: async ({ query, visit }) => takeBackForm(visit, query.token ?? ""),
});

const submitTakeBack = page({
  method: "post",
  path: takeBackPath,
  operationId: "takeBackEmailByPage",
  access: "anonymous",
  form: Shown,
  handle: ({ form, visit }, deps) => {
    const token = form.token ?? "";
    return tellingRefusals(
      (wrong) => takeBackForm(visit, token, wrong),
      async () => {
        await takeBack(token, visit, deps);
        const text = "The address is yours again. Set a new password and revoke foreign tokens.";
        return donePage("E-mail taken back", text);
      },
    );
  },
});

/** Long enough for as many links as an account can need. */
const linksLengthMax = 4_000;
const AnyForm = z.looseObject({
  token: Token.optional(),
  links: z.string().max(linksLengthMax).optional(),
});

/** Whole links or what they end in, in any form between. */
const tokensIn = (text: string): readonly string[] => text.match(/\b[0-9a-f]{96}\b/g) ?? [];

const otherLinks = html`<div class="field">
<label for="links">Links of the mails to the other addresses</label>
<textarea id="links" name="links" rows="3" maxlength="${linksLengthMax}" required></textarea>
</div>`;

/** @param several whether the account needs the links of several mails */
function resetPages(path: `/${string}`, operation: string, several: boolean): readonly PageRoute[] {
  const form = (visit: Visit, token: string, wrong?: string) =>
    formPage(visit, {
      title: "Set a new password",
      path,
      button: "Set password",
      fields: html`${hiddenToken(token)}${several && otherLinks}${newPassword}`,
      wrong,
    });
  return [
    page({
      method: "get",
      path,
      operationId: `show${operation}`,
      access: "anonymous",
      query: Shown,
      handle: async ({ query, visit }) => form(visit, query.token ?? ""),
    }),
    page({
      method: "post",
      path,
      operationId: `submit${operation}`,
      access: "anonymous",
      form: AnyForm,
      handle: ({ form: sent, visit }, deps) =>
        tellingRefusals(
          (wrong) => form(visit, sent.token ?? "", wrong),
          async () => {
            const otherTokens = tokensIn(sent.links ?? "");
            await reset(checked(ResetForm, { ...sent, otherTokens }), visit, deps);
            return donePage("Password set", "Log in with your new password.");
          },
        ),
    }),
  ];
}

/** A page that requests a mail; its answer is the same for every address. */
function askPages(
  path: `/account/${string}`,
  commandType: RecoveryCommandType,
  title: string,
): readonly PageRoute[] {
  const form = (visit: Visit, wrong?: string) => {
    const fields = field("email", "E-mail", "email", "email");
    return formPage(visit, { title, path, button: "Send a link", fields, wrong });
  };
  return [
    page({
      method: "get",
      path,
      operationId: `show${commandType}`,
      access: "anonymous",
      handle: async ({ visit }) => form(visit),
    }),
    page({
      method: "post",
      path,
      operationId: `${commandType.charAt(0).toLowerCase()}${commandType.slice(1)}ByPage`,
      access: "anonymous",
      form: z.looseObject({}),
      handle: ({ form: sent, visit }, deps) =>
        tellingRefusals(
          (wrong) => form(visit, wrong),
          async () => {
            await ask(commandType, checked(z.object({ email: Email }), sent).email, visit, deps);
            return donePage(title, "If there is an account of this address, a link is on its way.");
          },
        ),
    }),
  ];
}

const registrationFields = (given: Given) =>
  html`${field("alias", "Alias", "text", "username", given.alias)}
${field("email", "E-mail", "email", "email", given.email)}
${field("password", "Password", "password", "new-password")}`;

const registerPath = "/account/register";
const registerForm = (visit: Visit, given: Given = {}, wrong?: string) =>
  formPage(visit, {
    title: "Create an account",
    path: registerPath,
    button: "Create",
    fields: registrationFields(given),
    wrong,
  });

const Given = z.looseObject({
  alias: z.string().max(nameLengthMax).optional(),
  email: z.string().max(nameLengthMax).optional(),
});
type Given = z.output<typeof Given>;

const showRegister = page({
  method: "get",
  path: registerPath,
  operationId: "showRegistration",
  access: "anonymous",
  handle: async ({ visit }) => registerForm(visit),
});

const submitRegister = page({
  method: "post",
  path: registerPath,
  operationId: "registerByPage",
  access: "anonymous",
  form: Given,
  handle: ({ form, visit }, deps) =>
    tellingRefusals(
      (wrong) => registerForm(visit, form, wrong),
      async () => {
        const user = await register(checked(Registration, form), visit, deps);
        const text = user.is_confirmed
          ? "Your account is ready."
          : "A link is on its way to your address: use it before you log in.";
        return donePage("Account created", text);
      },
    ),
});

const invitationPath = linkPaths.INVITATION;

/** A user with a session becomes a member; others create an account or log in first. */
function invitationForm(
  visit: Visit,
  token: string,
  given: Given = {},
  wrong?: string,
): PageAnswer {
  const intro = "You were invited.";
  const path = invitationPath;
  if (visit.session !== undefined) {
    const fields = hiddenToken(token);
    return formPage(visit, { title: "Join", path, button: "Join", fields, intro, wrong });
  }
  const here = encodeURIComponent(`${invitationPath}?token=${token}`);
  const login = (base: string) =>
    html`<p><a href="${base}/login?returnTo=${here}">I have an account</a></p>`;
  const form = formPage(visit, {
    title: "Create an account to join",
    path,
    button: "Create and join",
    fields: html`${hiddenToken(token)}${registrationFields(given)}`,
    intro,
    wrong,
  });
  return "body" in form
    ? { ...form, body: (base) => html`${form.body(base)}${login(base)}` }
    : form;
}

const showInvitation = page({
  method: "get",
  path: invitationPath,
  operationId: "showInvitation",
  access: "anonymous",
  query: Shown,
  handle: async ({ query, visit }) => invitationForm(visit, query.token ?? ""),
});

const submitInvitation = page({
  method: "post",
  path: invitationPath,
  operationId: "acceptInvitationByPage",
  access: "anonymous",
  form: z.looseObject({ token: Token.optional() }),
  handle: ({ form, visit }, deps) => {
    const token = form.token ?? "";
    return tellingRefusals(
      (wrong) => invitationForm(visit, token, Given.catch({}).parse(form), wrong),
      async () => {
        const { session, userId } = visit;
        if (session !== undefined && userId !== null) await accept(token, userId, visit, deps);
        else await register(checked(Registration, { ...form, invitation: token }), visit, deps);
        return donePage("You are in", "You are a member now.");
      },
    );
  },
});

/** Links below the login form. */
export function accountLinks(base: string, settings: Settings): Html {
  const { disableMailAuth, enableEmailValidation } = settings;
  return html`<p><a href="${base}/account/forgot-password">Forgot your password?</a></p>
${!disableMailAuth && html`<p><a href="${base}${registerPath}">Create an account</a></p>`}
${enableEmailValidation && html`<p><a href="${base}/account/resend">Confirm your e-mail</a></p>`}`;
}

export const accountPages: readonly PageRoute[] = [
  ...askPages("/account/forgot-password", "AskPasswordReset", "Forgot your password?"),
  ...askPages("/account/resend", "AskEmailConfirmation", "Confirm your e-mail"),
  ...resetPages(linkPaths.PASSWORD_RESET, "PasswordReset", false),
  ...resetPages(linkPaths.PASSWORD_RESET_PART, "PasswordResetWithSeveral", true),
  showConfirm,
  showInvitation,
  showRegister,
  showTakeBack,
  submitConfirm,
  submitInvitation,
  submitRegister,
  submitTakeBack,
];
