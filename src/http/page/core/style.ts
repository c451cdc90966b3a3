import { type PageRoute, page } from "./route.ts";

/** The looks of all pages: system fonts, both colour schemes, contrast of 4.5 and more. */
const stylesheet = `
:root {
  color-scheme: light dark;
  --ground: #f6f7f9; --card: #fff; --text: #1c2430; --soft: #566173; --line: #d5dae1;
  --main: #1f5fbf; --on-main: #fff; --bad: #a3221b; --bad-ground: #fdeceb; --good: #17663a;
  --good-ground: #e8f6ed;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #12161c; --card: #1b212a; --text: #e6eaf0; --soft: #a3aebd; --line: #343d4a;
    --main: #8ab4f8; --on-main: #10203a; --bad: #ffb4ae; --bad-ground: #3d1d1b; --good: #93dbb0;
    --good-ground: #173324;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
header { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: center; gap: 1rem;
  padding: .75rem 1.25rem; background: var(--card); border-bottom: 1px solid var(--line); }
header nav { display: flex; align-items: center; gap: 1rem; margin-left: auto; }
header button { white-space: nowrap; }
header form { display: flex; align-items: center; gap: .75rem; margin: 0; }
.brand { font-weight: 700; color: var(--text); text-decoration: none; letter-spacing: -.01em; }
.hidden { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; }
.skip { position: absolute; left: -999px; }
.skip:focus { left: 1rem; top: .5rem; background: var(--card); padding: .5rem; }
main { max-width: 46rem; margin: 2rem auto 4rem; padding: 0 1.25rem; }
main:focus { outline: none; }
main:has(> .narrow) > h1 { max-width: 25rem; margin-left: auto; margin-right: auto; }
main.narrow, .narrow { max-width: 25rem; margin-left: auto; margin-right: auto; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 1rem; }
h2 { font-size: 1.1rem; margin: 0 0 .75rem; }
h3 { font-size: 1rem; margin: 1.5rem 0 .75rem; }
section, .card { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 1.25rem; margin: 0 0 1.25rem; }
section > :last-child, .card > :last-child { margin-bottom: 0; }
section > p:first-child { margin-top: 0; }
a { color: var(--main); }
label { display: block; font-weight: 600; margin: 0 0 .25rem; }
.field { margin: 0 0 1rem; }
.hint { color: var(--soft); font-size: .9rem; margin: .25rem 0 0; font-weight: 400; }
input[type=text], input[type=password], input[type=email], input[type=date], textarea { width: 100%; padding: .55rem .7rem;
  font: inherit; color: inherit; background: var(--ground); border: 1px solid var(--soft);
  border-radius: 6px; }
fieldset { border: 0; padding: 0; margin: 0 0 1rem; }
legend { font-weight: 600; padding: 0; margin: 0 0 .25rem; }
.choices { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(17rem, 100%), 1fr)); gap: .25rem 1rem; }
.choices label { font-weight: 400; margin: 0; }
button, .button { display: inline-block; font: inherit; font-weight: 600; cursor: pointer;
  padding: .55rem 1.1rem; border-radius: 6px; border: 1px solid var(--main); background: var(--main);
  color: var(--on-main); text-decoration: none; text-align: center; }
button.quiet, .button.quiet { background: transparent; color: var(--text); border-color: var(--soft);
  padding: .3rem .75rem; font-weight: 400; }
button.danger { background: transparent; color: var(--bad); border-color: var(--bad); }
.wide { display: block; width: 100%; margin: 0 0 .75rem; }
:focus-visible { outline: 3px solid var(--main); outline-offset: 2px; }
.notice { border-radius: 8px; padding: .75rem 1rem; margin: 0 0 1.25rem; border: 1px solid; }
.notice.error { background: var(--bad-ground); color: var(--bad); }
.notice.done { background: var(--good-ground); color: var(--good); }
code, .secret { font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; font-size: .92em;
  overflow-wrap: anywhere; }
.secret { display: block; padding: .6rem .75rem; margin: .5rem 0 0; border: 1px dashed currentColor;
  border-radius: 6px; user-select: all; }
/* Readers want dark on light, in both schemes. */
.qr { display: block; width: min(15rem, 100%); margin: 1rem auto; background: #fff; fill: #000;
  border-radius: 6px; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .35rem 1.25rem; margin: 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
table { width: 100%; border-collapse: collapse; }
th { text-align: left; font-size: .85rem; color: var(--soft); font-weight: 600; }
th, td { padding: .5rem .75rem .5rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th, time { white-space: nowrap; }
td:first-child { min-width: 9rem; }
tr:last-child td { border-bottom: 0; }
td:last-child { text-align: right; white-space: nowrap; }
td form { margin: 0; display: inline; }
.scroll { overflow-x: auto; }
main:not(.site) .list time { white-space: normal; }
.day { white-space: nowrap; }
@media (max-width: 30rem) {
  header { gap: .5rem; padding: .6rem 1rem; } header nav { gap: .7rem; }
  header form span { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; }
  header button.quiet { padding: .2rem .55rem; }
  main { margin-top: 1.25rem; padding: 0 1rem; } section, .card { padding: 1rem; }
}
@media (max-width: 40rem) {
  .list thead { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; }
  .list, .list tbody, .list tr, .list td { display: block; width: auto; }
  .list tr { padding: .6rem 0; border-bottom: 1px solid var(--line); }
  .list tr:last-child { border: 0; }
  main .list td { position: relative; min-width: 0; overflow-wrap: anywhere; border: 0; padding: .15rem 0 .15rem 7rem; }
  main .list td::before { content: attr(data-label); position: absolute; left: 0; width: 6.75rem;
    color: var(--soft); font-size: .85rem; }
  main .list td:first-child, main .list td[data-label=""] { padding-left: 0; }
  .list td:first-child::before { display: none; }
  .list td:empty { display: none; }
  main .list td, main.site .list td { text-align: left; white-space: normal; }
}
.or { text-align: center; color: var(--soft); margin: 1rem 0; }
.actions { display: flex; flex-wrap: wrap; gap: .75rem; }
`;

/** The brand's initial; one file for every page and for what browsers request by themselves. */
const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" \
rx="7" fill="#1f5fbf"/><path d="M11 7v18h11" fill="none" stroke="#fff" stroke-width="4"/></svg>`;

const iconAt = (path: `/favicon.${string}`, operationId: string): PageRoute =>
  page({
    method: "get",
    path,
    operationId,
    access: "anonymous",
    handle: async () => ({ document: icon, type: "image/svg+xml", cache: true }),
  });

export const icons: readonly PageRoute[] = [
  iconAt("/favicon.svg", "getIcon"),
  iconAt("/favicon.ico", "getDefaultIcon"),
];

export const style = page({
  method: "get",
  path: "/style.css",
  operationId: "getStylesheet",
  access: "anonymous",
  handle: async () => ({ document: stylesheet, type: "text/css; charset=utf-8", cache: true }),
});
