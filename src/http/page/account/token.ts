import { Scope } from "../../../events/token/access-token.ts";
import { listTokens } from "../../api/token/view.ts";
import { type Html, html } from "../core/html.ts";
import { time } from "../core/layout.ts";
import { formStart } from "../core/once.ts";
import type { LoggedIn, PageDeps } from "../core/route.ts";
import { row, tableOf } from "../core/table.ts";

const tokensMax = 100;

export async function tokenSection(
  visit: LoggedIn,
  deps: PageDeps,
): Promise<(base: string) => Html> {
  const first = { limit: tokensMax, offset: 0 };
  const { items, totalElements } = await listTokens("ACCESS", visit.userId, first, deps);
  return (base) => html`<section aria-labelledby="tokens">
<h2 id="tokens">Access tokens</h2>
<p class="hint">A token gives access to the REST interface, and to git in place of a password.</p>
${
  items.length > 0 &&
  tableOf(
    "Access tokens",
    ["Name", "Scopes", "Expires", "Last used", ""],
    items.map(({ name, scopeSet, expiresAt, lastUsedAt }) =>
      row(
        name,
        scopeSet.join(", "),
        expiresAt === null ? "never" : time(expiresAt),
        lastUsedAt === null ? "never" : time(lastUsedAt),
        html`<form method="post" action="${base}/console/token/revoke">${formStart(visit)}
<input type="hidden" name="name" value="${name}"><button class="quiet">Revoke<span class="hidden"> token ${name}</span></button></form>`,
      ),
    ),
  )
}
${totalElements > items.length && html`<p class="hint">The first ${items.length} of ${totalElements}.</p>`}
<h3>New token</h3>
${createForm(base, visit)}
</section>`;
}

function createForm(base: string, visit: LoggedIn): Html {
  return html`<form method="post" action="${base}/console/token">
${formStart(visit)}
<div class="field"><label for="name">Name</label>
<input type="text" id="name" name="name" maxlength="255" required></div>
<fieldset><legend>Scopes</legend><div class="choices">${Scope.options.map(
    (scope) => html`<label><input type="checkbox" name="scopes" value="${scope}"> ${scope}</label>`,
  )}</div></fieldset>
<div class="field"><label for="expiresAt">Expires after</label>
<input type="date" id="expiresAt" name="expiresAt" aria-describedby="expiresAt-hint">
<p class="hint" id="expiresAt-hint">Empty: it never expires.</p></div>
<button>Create token</button>
</form>`;
}
