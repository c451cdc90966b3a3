import { type Html, html } from "./html.ts";

export type Shell = Readonly<{
  title: string;
  body: Html;
  /** What stands in front of every path of ours: the path of the public address. */
  base: string;
  /** Who is logged in, and the token for the form that logs them out. */
  person?: Readonly<{ alias: string; csrf: string }> | undefined;
}>;

/** A whole page. It needs no script, and takes its looks from one stylesheet of ours. */
export function wholePage({ title, body, base, person }: Shell): string {
  const { markup } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Ledgerforge</title>
<link rel="icon" href="${base}/favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${base}/style.css">
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<header>
<a class="brand" href="${base}/console">Ledgerforge</a>
<nav><a href="${base}/docs">API</a></nav>
${person && personBar(base, person)}
</header>
<main id="main" tabindex="-1">
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

/** Something to be told before all else: what was wrong, or what was done. */
export function notice(text: string | Html | undefined, kind: "error" | "done" = "error") {
  if (text === undefined) return undefined;
  return html`<p class="notice ${kind}" role="${kind === "error" ? "alert" : "status"}">${text}</p>`;
}

export const time = (date: Date): Html =>
  html`<time datetime="${date.toISOString()}">${date.toISOString().slice(0, 16).replace("T", " ")} UTC</time>`;
