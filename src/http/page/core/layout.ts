import { type Html, html } from "./html.ts";

export type Shell = Readonly<{
  title: string;
  body: Html;
  /** Above the title. */
  lead?: Html | undefined;
  wide?: boolean | undefined;
  /** Paths of scripts of ours. */
  scripts?: readonly string[] | undefined;
  /** What stands in front of every path of ours: the path of the public address. */
  base: string;
  /** Who is logged in, and the token for the form that logs them out. */
  person?: Readonly<{ alias: string; csrf: string }> | undefined;
}>;

/** A whole page. It is read without a script, and takes its looks from one stylesheet of ours. */
export function wholePage(shell: Shell): string {
  const { title, body, base, person, lead, wide = false, scripts = [] } = shell;
  const { markup } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Ledgerforge</title>
<link rel="icon" href="${base}/favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${base}/style.css">
${wide && html`<link rel="stylesheet" href="${base}/page/site.css">`}
${scripts.map((path) => html`<script src="${base}${path}" defer></script>`)}
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<header>
<a class="brand" href="${base}/console">Ledgerforge</a>
<nav aria-label="Service">${person && html`<a href="${base}/project/my">Projects</a>`}<a href="${base}/docs">API</a></nav>
${person ? personBar(base, person) : wide && html`<a href="${base}/login">Log in</a>`}
</header>
<main id="main" tabindex="-1"${wide && html` class="site"`}>
${lead}
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`;
  return markup;
}

function personBar(base: string, { alias, csrf }: Readonly<{ alias: string; csrf: string }>): Html {
  return html`<form method="post" action="${base}/logout">
${csrfField(csrf)}
<span>${alias}</span>
<button class="quiet">Log out</button>
</form>`;
}

/** Belongs into every form that changes something. */
export const csrfField = (csrf: string): Html =>
  html`<input type="hidden" name="csrf" value="${csrf}">`;

/** A message above the content: what was wrong, or what was done. */
export function notice(text: string | Html | undefined, kind: "error" | "done" = "error") {
  if (text === undefined) return undefined;
  return html`<p class="notice ${kind}" role="${kind === "error" ? "alert" : "status"}">${text}</p>`;
}

export function time(date: Date): Html {
  const [day = "", clock = ""] = date.toISOString().split("T");
  return html`<time datetime="${date.toISOString()}"><span class="day">${day}</span> ${clock.slice(0, 5)} UTC</time>`;
}
