import { z } from "zod";

import { type Html, html } from "../core/html.ts";

/** Of a query: which page of a list, from 0. */
export const PageNumber = z.coerce.number().int().min(0).max(10_000_000).catch(0);

export const pageSize = 30;

type Paged = Readonly<{
  /** Address of the list without its page number. */
  address: string;
  number: number;
  size?: number;
  total: number;
}>;

/** Links to the pages before and after; nothing where all fits on one. */
export function pager({ address, number, size = pageSize, total }: Paged): Html | undefined {
  const last = Math.max(0, Math.ceil(total / size) - 1);
  if (last === 0 && number === 0) return undefined;
  const to = (page: number) => `${address}${address.includes("?") ? "&" : "?"}page=${page}`;
  const first = number * size + 1;
  const until = Math.min(total, (number + 1) * size);
  return html`<nav class="pager" aria-label="Pages">
${number > 0 && html`<a rel="prev" href="${to(Math.min(number - 1, last))}">← Previous</a>`}
<span>${first <= until ? `${first}–${until} of ${total}` : `none of ${total}`}</span>
${number < last && html`<a rel="next" href="${to(number + 1)}">Next →</a>`}
</nav>`;
}
