import { type Html, html, type Piece } from "./html.ts";

/** Cells of one row. */
export type Row = readonly Piece[];

/**
 * A table. On a narrow screen each row is a block of lines, each with the title of its column before
 * it; the roles keep it a table for screen readers, which a style of that kind would undo.
 */
export function tableOf(caption: string, head: readonly string[], rows: readonly Row[]): Html {
  return html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0"><table class="list" role="table">
<thead role="rowgroup"><tr role="row">${head.map((title) => html`<th scope="col" role="columnheader">${title}</th>`)}</tr></thead>
<tbody role="rowgroup">${rows.map(
    (cells) =>
      html`<tr role="row">${cells.map((cell, index) => html`<td role="cell" data-label="${head[index]}">${cell}</td>`)}</tr>`,
  )}</tbody></table></div>`;
}

export const row = (...cells: readonly Piece[]): Row => cells;
