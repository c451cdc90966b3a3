import { z } from "zod";

import { SshKeyId } from "../../../events/core/ids.ts";
import { sshKeyLengthMax } from "../../../platform/key/ssh-key.ts";
import { home } from "../../access/session.ts";
import { addKey, listedKeys, NewSshKey, removeKey } from "../../api/user/ssh-key.ts";
import { checked, nameLengthMax } from "../../core/schema.ts";
import { type Html, html } from "../core/html.ts";
import { time } from "../core/layout.ts";
import { formStart } from "../core/once.ts";
import { type LoggedIn, type PageDeps, type PageRoute, page } from "../core/route.ts";
import { row, tableOf } from "../core/table.ts";

const keysMax = 100;
const keyPath = "/console/ssh-key";

/** The SSH keys of the account, and a form for another one. */
export async function sshKeySection(
  visit: LoggedIn,
  deps: PageDeps,
): Promise<(base: string) => Html> {
  const first = { limit: keysMax, offset: 0 };
  const { items, totalElements } = await listedKeys(visit.userId, first, deps);
  return (base) => html`<section aria-labelledby="ssh-keys">
<h2 id="ssh-keys">SSH keys</h2>
<p class="hint">SSH keys give access to git over SSH.</p>
${
  items.length > 0 &&
  tableOf(
    "SSH keys",
    ["Title", "Type", "Expires", "Last used", ""],
    items.map(({ uuid, title, publicKey, expiresAt, lastUsedAt }) =>
      row(
        title,
        publicKey.split(" ", 1)[0],
        expiresAt === null ? "never" : time(expiresAt),
        lastUsedAt === null ? "never" : time(lastUsedAt),
        html`<form method="post" action="${base}${keyPath}/${uuid}/delete">${formStart(visit)}
<button class="quiet">Delete<span class="hidden"> key ${title}</span></button></form>`,
      ),
    ),
  )
}
${totalElements > items.length && html`<p class="hint">The first ${items.length} of ${totalElements}.</p>`}
<h3>New SSH key</h3>
<form method="post" action="${base}${keyPath}">
${formStart(visit)}
<div class="field"><label for="key-title">Title</label>
<input type="text" id="key-title" name="title" maxlength="255" required></div>
<div class="field"><label for="key-text">Public key</label>
<textarea id="key-text" name="publicKey" rows="3" required aria-describedby="key-hint"></textarea>
<p class="hint" id="key-hint">The line in a file like ~/.ssh/id_ed25519.pub.</p></div>
<div class="field"><label for="key-end">Expires after</label>
<input type="date" id="key-end" name="expiresAt"></div>
<button>Add key</button>
</form>
</section>`;
}

const addOne = page({
  method: "post",
  path: keyPath,
  operationId: "addSshKeyInConsole",
  access: "session",
  // What is wrong within these bounds is said field by field, as REST says it.
  form: z.object({
    title: z.string().max(nameLengthMax),
    publicKey: z.string().max(sshKeyLengthMax),
    expiresAt: z.string().max(nameLengthMax).default(""),
  }),
  async handle({ form, visit }, deps) {
    const expiresAt = form.expiresAt === "" ? null : form.expiresAt;
    await addKey(visit.userId, checked(NewSshKey, { ...form, expiresAt }), visit, deps);
    return { redirect: home };
  },
});

const deleteOne = page({
  method: "post",
  path: `${keyPath}/{id}/delete`,
  operationId: "deleteSshKeyInConsole",
  access: "session",
  params: z.object({ id: SshKeyId }),
  async handle({ params, visit }, deps) {
    await removeKey(visit.userId, params.id, visit, deps);
    return { redirect: home };
  },
});

export const sshKeyPages: readonly PageRoute[] = [addOne, deleteOne];
