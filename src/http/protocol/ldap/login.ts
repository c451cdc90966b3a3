import { createHash } from "node:crypto";
import { z } from "zod";
import { type Identity, linkedAccount } from "../../../commands/login/external-account.ts";
import { LoginConnectionId } from "../../../events/core/ids.ts";
import { type DirectoryEntry, DirectoryUnavailable } from "../../../platform/identity/directory.ts";
import { Limit } from "../../../platform/limit.ts";
import { neighbourhoodOf } from "../../../platform/network.ts";
import { Refusal } from "../../../platform/refusal.ts";
import type { ConnectionOf } from "../../../projections/login/connection.ts";
import { loginsBusy } from "../../access/authenticate.ts";
import { directoryIssuer, directorySettings } from "../../access/directory-settings.ts";
import { returnPath } from "../../access/return-to.ts";
import { home } from "../../access/session.ts";
import { commandDeps } from "../../core/command-deps.ts";
import { pathLengthMax } from "../../core/schema.ts";
import { type Html, html } from "../../page/core/html.ts";
import { csrfField, notice } from "../../page/core/layout.ts";
import { showingRefusals } from "../../page/core/refusal-message.ts";
import {
  type PageAnswer,
  type PageDeps,
  type PageRoute,
  page,
  type Visit,
} from "../../page/core/route.ts";
import { ConnectionParams, LoginQuery, openConnection } from "../../page/login/connection-page.ts";
import { type ExternalPerson, identityOf } from "../../page/login/external-account.ts";
import { finishLogin } from "../../page/login/finish-login.ts";

const path = "/login/ldap/{connectionId}" as const;
const common = { access: "anonymous", path, params: ConnectionParams } as const;

const show = page({
  ...common,
  method: "get",
  operationId: "showLdapLogin",
  query: LoginQuery,
  async handle({ params, query, visit }, deps) {
    const connection = await openConnection("LDAP", params.connectionId, deps);
    const returnTo = returnPath(query.returnTo, home);
    return loginForm({ connection, visit, returnTo });
  },
});

const Login = z.object({
  login: z.string().trim().max(255),
  password: z.string().max(512),
  returnTo: z.string().max(pathLengthMax).optional(),
});

const submit = page({
  ...common,
  method: "post",
  operationId: "logInByLdap",
  form: Login,
  async handle({ params, form, visit }, deps) {
    const connection = await openConnection("LDAP", params.connectionId, deps);
    const { login, password } = form;
    const returnTo = returnPath(form.returnTo, home);
    const again = (wrong: string): PageAnswer =>
      loginForm({ connection, visit, returnTo, login, wrong });
    const run = async (): Promise<PageAnswer> => {
      const entry = await authenticateByDirectory(connection, { login, password }, visit, deps);
      if (entry === null) return again("Name and password do not match.");
      const authenticated = { connection, person: personOf(connection, entry) };
      return await finishLogin(authenticated, { returnTo, linkTo: null }, visit, deps);
    };
    return showingRefusals(["forbidden"], run, again);
  },
});

export const ldapLoginPages: readonly PageRoute[] = [show, submit];

/** Logins that wait for a directory, by the place they come from; it may be slow, and must not hold everything up. */
const logins = new Limit({
  name: "login.directory_checks",
  total: 64,
  share: 16,
  whenFull: "refuse",
  refusal: loginsBusy,
});

/**
 * Whose entry this is, when the password is theirs. The entry is looked for first, so that attempts are
 * counted for the person, however their name is written; an unknown one is counted under what was typed.
 *
 * @throws Refusal 403 `auth.locked`, 503 `auth.busy`, `sso.directory_unavailable`
 */
export async function authenticateByDirectory(
  connection: ConnectionOf<"LDAP">,
  { login, password }: Readonly<{ login: string; password: string }>,
  visit: Visit,
  deps: PageDeps,
): Promise<DirectoryEntry | null> {
  if (login === "" || password === "") return null;
  const { leave } = logins.take(1, { caller: neighbourhoodOf(visit.ip) });
  try {
    const settings = await directorySettings(connection, deps);
    const entry = await deps.directory.find(settings, { login });
    const account = await accountKey(connection, entry, login, deps);
    return await deps.lockout.guard({ account, ip: visit.ip }, async () => {
      const right = await deps.directory.authenticate(settings, entry?.dn ?? null, password);
      return right ? entry : null;
    });
  } catch (error) {
    if (error instanceof DirectoryUnavailable) throw directoryUnavailable(connection, error, deps);
    throw error;
  } finally {
    leave();
  }
}

async function accountKey(
  connection: ConnectionOf<"LDAP">,
  entry: DirectoryEntry | null,
  login: string,
  deps: PageDeps,
): Promise<string> {
  const identity =
    entry === null
      ? nobody(connection, login)
      : identityOf({ connection, person: personOf(connection, entry) });
  // Looked for also where there is no entry, so that the time taken reveals nothing.
  const linked = await linkedAccount(commandDeps(deps), identity);
  return linked?.userId ?? createHash("sha256").update(JSON.stringify(identity)).digest("hex");
}

/** What attempts under a name that the directory does not know are counted by. */
function nobody({ id }: ConnectionOf<"LDAP">, login: string): Identity {
  const written = login.normalize("NFKC").toLowerCase().replaceAll(/\s+/g, " ");
  return { connectionId: LoginConnectionId.parse(id), subject: JSON.stringify([written]) };
}

function directoryUnavailable(
  { id, details }: ConnectionOf<"LDAP">,
  error: DirectoryUnavailable,
  { log }: PageDeps,
): Refusal {
  log.warn({ connectionId: id, why: error.message }, "directory is out of order");
  const message = `${details.name} does not answer at present. Please try again later.`;
  return new Refusal("unavailable", "sso.directory_unavailable", message, {
    retryAfterSeconds: 30,
  });
}

export function personOf(connection: ConnectionOf<"LDAP">, entry: DirectoryEntry): ExternalPerson {
  const { id, alias, email, name, surname } = entry;
  return {
    subject: [directoryIssuer(connection), id],
    email,
    // LDAP has no word for it: the administrator says for the connection whether it is.
    emailVerified: true,
    aliasWish: alias ?? email?.split("@")[0] ?? "",
    name,
    surname,
  };
}

type LoginForm = Readonly<{
  connection: ConnectionOf<"LDAP">;
  visit: Visit;
  returnTo: string;
  login?: string;
  wrong?: string;
}>;

function loginForm({ connection, visit, returnTo, login = "", wrong }: LoginForm): PageAnswer {
  const { id, details } = connection;
  const body = (base: string): Html => html`<div class="narrow">
${notice(wrong)}
<div class="card">
<form method="post" action="${base}/login/ldap/${id}">
${csrfField(visit.csrf)}
<input type="hidden" name="returnTo" value="${returnTo}">
<div class="field">
<label for="login">Name</label>
<input type="text" id="login" name="login" value="${login}" autocomplete="username"
 autocapitalize="none" spellcheck="false" required>
</div>
<div class="field">
<label for="password">Password</label>
<input type="password" id="password" name="password" autocomplete="current-password" required>
</div>
<button class="wide">Log in</button>
</form>
<p><a href="${base}/login?choose=1">Other ways to log in</a></p>
</div>
</div>`;
  return { title: `Log in with ${details.name}`, body, status: wrong === undefined ? 200 : 403 };
}
