import { z } from "zod";
import type { Settings } from "../../../events/instance/settings.ts";
import { linkPaths } from "../../../services/user/mail-text.ts";
import {
  confirm,
  type RecoveryCommandType,
  ResetForm,
  requestLink,
  reset,
  takeBack,
} from "../../api/login/account-link.ts";
import { accept } from "../../api/user/invitation.ts";
import { Registration, register } from "../../api/user/registration.ts";
import { Email } from "../../api/user/user.ts";
import { checked, nameLengthMax } from "../../core/schema.ts";
import { type Html, html } from "../core/html.ts";
import { csrfField, notice } from "../core/layout.ts";
import { showingRefusals } from "../core/refusal-message.ts";
import { type PageAnswer, type PageDeps, type PageRoute, page, type Visit } from "../core/route.ts";

/** The pages that the links of mails lead to, and those where users request such mails. */

const Token = z.string().max(200).catch("");
const TokenQuery = z.object({ token: Token.optional() });

const names = {
  alias: z.string().max(nameLengthMax).optional(),
  email: z.string().max(nameLengthMax).optional(),
};
const Names = z.object(names).catch({});

/** What fills in a form: the token of the link, and the names that were typed. */
type AccountInput = Readonly<{ token: string }> & z.output<typeof Names>;

type Form = Readonly<{
  title: string;
  button: string;
  fields: Html;
  intro?: string;
  /** Below the form. */
  rest?: (base: string) => Html;
}>;

type AccountForm<Sent> = Readonly<{
  path: `/${string}`;
  operationIds: readonly [show: string, submit: string];
  sent: z.ZodType<Sent>;
  form: (account: AccountInput, visit: Visit) => Form;
  /** Does what the button says. */
  submit: (
    input: Readonly<{ sent: Sent; token: string; visit: Visit }>,
    deps: PageDeps,
  ) => Promise<PageAnswer>;
}>;

/**
 * One form on a page; what it changes is changed by its button alone, never by opening the page. Refusals that a
 * user can act on are shown beside the form.
 */
function accountForm<Sent extends object>(declared: AccountForm<Sent>): readonly PageRoute[] {
  const { path, operationIds, sent: form, submit } = declared;
  const [showId, submitId] = operationIds;
  const show = (visit: Visit, account: AccountInput, wrong?: string) =>
    formPage(path, visit, declared.form(account, visit), wrong);
  return [
    page({
      method: "get",
      path,
      operationId: showId,
      access: "anonymous",
      query: TokenQuery,
      handle: async ({ query, visit }) => show(visit, { token: query.token ?? "" }),
    }),
    page({
      method: "post",
      path,
      operationId: submitId,
      access: "anonymous",
      form,
      handle(input, deps) {
        const { visit } = input;
        // The schema's type is lost among those of all pages.
        const sent = input.form as Sent;
        const { token = "" } = TokenQuery.parse(sent);
        return showingRefusals(
          ["unprocessable", "forbidden"],
          () => submit({ sent, token, visit }, deps),
          (wrong) => show(visit, { token, ...Names.parse(sent) }, wrong),
        );
      },
    }),
  ];
}

function formPage(path: string, visit: Visit, form: Form, wrong: string | undefined): PageAnswer {
  const { title, button, fields, intro, rest } = form;
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
</div>${rest?.(base)}`,
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

const confirmPages = accountForm({
  path: linkPaths.EMAIL_CONFIRMATION,
  operationIds: ["showEmailConfirmation", "confirmEmailByPage"],
  sent: TokenQuery,
  form: ({ token }) => ({
    title: "Confirm your e-mail",
    button: "Confirm",
    fields: hiddenToken(token),
  }),
  async submit({ token, visit }, deps) {
    await confirm(token, visit, deps);
    return donePage("E-mail confirmed", "Your e-mail address is confirmed.");
  },
});

const takeBackPages = accountForm({
  path: linkPaths.EMAIL_TAKE_BACK,
  operationIds: ["showEmailTakeBack", "takeBackEmailByPage"],
  sent: TokenQuery,
  form: ({ token }) => ({
    title: "Take your e-mail address back",
    button: "Take back",
    intro: "Your account gets the address back that this link was sent to.",
    fields: hiddenToken(token),
  }),
  async submit({ token, visit }, deps) {
    await takeBack(token, visit, deps);
    const text = "The address is yours again. Set a new password and revoke foreign tokens.";
    return donePage("E-mail taken back", text);
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
const resetPages = (path: `/${string}`, operation: string, several: boolean) =>
  accountForm({
    path,
    operationIds: [`show${operation}`, `submit${operation}`],
    sent: AnyForm,
    form: ({ token }) => ({
      title: "Set a new password",
      button: "Set password",
      fields: html`${hiddenToken(token)}${several && otherLinks}${newPassword}`,
    }),
    async submit({ sent, visit }, deps) {
      const otherTokens = tokensIn(sent.links ?? "");
      await reset(checked(ResetForm, { ...sent, otherTokens }), visit, deps);
      return donePage("Password set", "Log in with your new password.");
    },
  });

/** A page that requests a mail; its answer is the same for every address. */
const requestPages = (path: `/account/${string}`, command: RecoveryCommandType, title: string) =>
  accountForm({
    path,
    operationIds: [`show${command}`, `${command.charAt(0).toLowerCase()}${command.slice(1)}ByPage`],
    sent: z.looseObject({}),
    form: () => ({
      title,
      button: "Send a link",
      fields: field("email", "E-mail", "email", "email"),
    }),
    async submit({ sent, visit }, deps) {
      await requestLink(command, checked(z.object({ email: Email }), sent).email, visit, deps);
      return donePage(title, "If there is an account of this address, a link is on its way.");
    },
  });

const registrationFields = ({ alias, email }: AccountInput) =>
  html`${field("alias", "Alias", "text", "username", alias)}
${field("email", "E-mail", "email", "email", email)}
${field("password", "Password", "password", "new-password")}`;

const registerPath = "/account/register";
const registerPages = accountForm({
  path: registerPath,
  operationIds: ["showRegistration", "registerByPage"],
  sent: z.looseObject(names),
  form: (account) => ({
    title: "Create an account",
    button: "Create",
    fields: registrationFields(account),
  }),
  async submit({ sent, visit }, deps) {
    const user = await register(checked(Registration, sent), visit, deps);
    const text = user.is_confirmed
      ? "Your account is ready."
      : "A link is on its way to your address: use it before you log in.";
    return donePage("Account created", text);
  },
});

const invitationPath = linkPaths.INVITATION;

/** A user with a session becomes a member; others create an account or log in first. */
const invitationPages = accountForm({
  path: invitationPath,
  operationIds: ["showInvitation", "acceptInvitationByPage"],
  sent: z.looseObject({ token: Token.optional() }),
  form(account, { session }) {
    const { token } = account;
    const intro = "You were invited.";
    if (session !== undefined) {
      return { title: "Join", button: "Join", fields: hiddenToken(token), intro };
    }
    const here = encodeURIComponent(`${invitationPath}?token=${token}`);
    return {
      title: "Create an account to join",
      button: "Create and join",
      fields: html`${hiddenToken(token)}${registrationFields(account)}`,
      intro,
      rest: (base) => html`<p><a href="${base}/login?returnTo=${here}">I have an account</a></p>`,
    };
  },
  async submit({ sent, token, visit }, deps) {
    const { session, userId } = visit;
    if (session !== undefined && userId !== null) await accept(token, userId, visit, deps);
    else await register(checked(Registration, { ...sent, invitation: token }), visit, deps);
    return donePage("You are in", "You are a member now.");
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
  ...requestPages("/account/forgot-password", "RequestPasswordReset", "Forgot your password?"),
  ...requestPages("/account/resend", "RequestEmailConfirmation", "Confirm your e-mail"),
  ...resetPages(linkPaths.PASSWORD_RESET, "PasswordReset", false),
  ...resetPages(linkPaths.PASSWORD_RESET_PART, "PasswordResetWithSeveral", true),
  ...confirmPages,
  ...invitationPages,
  ...registerPages,
  ...takeBackPages,
];
