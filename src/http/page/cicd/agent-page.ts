import { z } from "zod";

import { RegistrationInfoView } from "../../api/agent/registration.ts";
import type { Names } from "../common/address.ts";
import { button } from "../common/form.ts";
import { PageNumber } from "../common/pager.ts";
import { besides } from "../common/project-page.ts";
import { type Html, html } from "../core/html.ts";
import { type PageRoute, page, type Visit } from "../core/route.ts";
import { agentsPath } from "./address.ts";
import { agentsPage, at } from "./agent-list.ts";

type Registration = z.output<typeof RegistrationInfoView>;

const section = (content: Html): Html =>
  html`<section aria-labelledby="register"><h2 id="register">Register an agent</h2>${content}</section>`;

const showAgents = page({
  ...besides,
  path: at,
  operationId: "showProjectAgents",
  query: z.object({ page: PageNumber }),
  async handle({ params, query: { page: number }, visit }, deps) {
    const mayRegister = await visit.operations.may("getProjectAgentRegistration", params);
    // Shown at a press of the button: the first request issues the token.
    const registration = (base: string, of: Names) =>
      mayRegister &&
      section(html`<p>An agent registers itself with a token of the project.</p>
${button(`${base}/page${agentsPath(of)}/registration`, visit, "Show the registration token")}`);
    return await agentsPage({ params, number, visit, registration }, deps);
  },
});

type TokenPage = Readonly<{
  path: string;
  operationId: string;
  /** Answers the token. */
  apiOperation: string;
  onlyShows?: true;
}>;

/** A form whose answer shows the token. */
const tokenPage = ({ path, apiOperation, ...declared }: TokenPage): PageRoute =>
  page({
    ...declared,
    method: "post",
    path: `/page${at}/${path}`,
    access: "session",
    async handle({ params, visit }, deps) {
      const info = await visit.operations.one(apiOperation, RegistrationInfoView, { params });
      const mayReset = await visit.operations.may("resetProjectAgentRegistration", params);
      const registration = (base: string, of: Names) =>
        section(
          tokenPiece(info, mayReset && `${base}/page${agentsPath(of)}/registration/reset`, visit),
        );
      return await agentsPage({ params, visit, registration }, deps);
    },
  });

function tokenPiece(
  { registrationUrl, registrationToken }: Registration,
  resetAt: string | false,
  visit: Visit,
): Html {
  return html`<p>Run this on the machine of the agent:</p>
<code class="secret">ledgerforge agent register --url ${registrationUrl} --token ${registrationToken}</code>
${resetAt !== false && html`<p class="hint">Another token makes this one invalid. Registered agents stay.</p>${button(resetAt, visit, "Issue another token")}`}`;
}

const showToken = tokenPage({
  path: "registration",
  operationId: "showProjectAgentRegistration",
  apiOperation: "getProjectAgentRegistration",
  onlyShows: true,
});
const resetToken = tokenPage({
  path: "registration/reset",
  operationId: "resetProjectAgentRegistrationByPage",
  apiOperation: "resetProjectAgentRegistration",
});

export const agentPages: readonly PageRoute[] = [resetToken, showAgents, showToken];
