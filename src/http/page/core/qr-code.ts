import { type Html, html } from "./html.ts";

/**
 * Squares, true where dark, as an image in the page: nothing is fetched for it, and what it says reaches no
 * script and no other host.
 */
export function qrCode(rows: readonly (readonly boolean[])[], label: string): Html {
  const size = rows.length;
  return html`<svg class="qr" role="img" aria-label="${label}" viewBox="0 0 ${size} ${size}"
 shape-rendering="crispEdges"><path d="${rows.map(strokesOf).join("")}"></path></svg>`;
}

/** Each run of dark squares of a row as one rectangle. */
function strokesOf(row: readonly boolean[], y: number): string {
  const text = row.map((isDark) => (isDark ? "#" : " ")).join("");
  return [...text.matchAll(/#+/g)]
    .map(({ 0: run, index }) => `M${index} ${y}h${run.length}v1h-${run.length}z`)
    .join("");
}
