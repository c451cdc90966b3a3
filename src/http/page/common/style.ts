import { type PageRoute, page } from "../core/route.ts";

/** What pages of projects add to the looks of all pages; colours have a contrast of 4.5 and more. */
const stylesheet = `
:root {
  --code-ground: #fff; --add: #dff5e4; --remove: #fde7e5; --soft-line: #eceff3;
  --h-key: #8a1c7c; --h-string: #0a5c36; --h-comment: #5c6773; --h-number: #7a3e00; --h-name: #1b4fa0;
  --s-good: #17663a; --s-bad: #a3221b; --s-run: #1f5fbf; --s-wait: #7a4d00; --s-off: #566173;
  --a0: #3b4252; --a1: #a3221b; --a2: #17663a; --a3: #7a4d00; --a4: #1f5fbf; --a5: #8a1c7c; --a6: #0b5d66;
  --a7: #566173;
}
@media (prefers-color-scheme: dark) {
  :root {
    --code-ground: #161b22; --add: #14341f; --remove: #43201e; --soft-line: #262e39;
    --h-key: #f0a6e4; --h-string: #93dbb0; --h-comment: #a3aebd; --h-number: #f2c078; --h-name: #9ec5ff;
    --s-good: #93dbb0; --s-bad: #ffb4ae; --s-run: #9ec5ff; --s-wait: #f2c078; --s-off: #a3aebd;
    --a0: #a3aebd; --a1: #ffb4ae; --a2: #93dbb0; --a3: #f2c078; --a4: #9ec5ff; --a5: #f0a6e4; --a6: #8fdbe3;
    --a7: #e6eaf0;
  }
}
main.site { max-width: 76rem; }
main.site h1, main.site h2, main.site .actions { overflow-wrap: anywhere; }
.actions > * { min-width: 0; }
main.site td:first-child { min-width: 0; }
main.site td:last-child { text-align: left; white-space: normal; }
.empty { text-align: center; padding: 1.5rem 1rem; } .empty p { margin: 0 0 .5rem; }
.empty > :first-child { font-weight: 600; }
.prose > :last-child, .comment > :last-child, section > form:last-child > :last-child,
.empty > :last-child, section > div:last-child > :last-child { margin-bottom: 0; }
.crumbs { margin: 0 0 .75rem; overflow-wrap: anywhere; }
.tabs { border-bottom: 1px solid var(--line); margin: 0 0 1.5rem; }
.tabs ul { display: flex; flex-wrap: wrap; gap: .5rem 1.25rem; list-style: none; margin: 0; padding: 0 0 .5rem; }
.tabs li { white-space: nowrap; }
.tabs a { text-decoration: none; }
.tabs a[aria-current] { color: var(--text); font-weight: 700; border-bottom: 3px solid var(--main);
  padding-bottom: .35rem; }
.actions { align-items: center; margin: .75rem 0; }
.actions:first-child, section > p:first-child, .prose > :first-child, .comment > p { margin-top: 0; }
.actions:empty { display: none; }
p.hint { margin-bottom: .75rem; }
.pager { display: flex; flex-wrap: wrap; gap: 1rem; justify-content: center; margin: 1rem 0; }
.tree { list-style: none; margin: 0; padding: 0; }
.tree li { padding: .35rem 0; border-bottom: 1px solid var(--soft-line); overflow-wrap: anywhere; }
.tree li:last-child { border: 0; }
.tree .hint { display: inline; }
.hint { overflow-wrap: anywhere; }
.list td { overflow-wrap: anywhere; min-width: 5rem; }
.plain { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0 0 1rem; max-height: 60vh; overflow: auto;
  font-family: ui-monospace, Menlo, Consolas, monospace; font-size: .9rem; }
.code { background: var(--code-ground); border: 1px solid var(--line); border-radius: 6px; }
.lines { font-size: .85rem; line-height: 1.45; width: auto; min-width: 100%; }
.lines td { padding: 0 .6rem; border: 0; vertical-align: top; }
main.site .lines td { white-space: pre; min-width: 0; }
main.site .lines code { overflow-wrap: normal; white-space: pre; font-size: 1em; }
.lines .n { text-align: right; color: var(--soft); user-select: none; width: 1%; }
.lines .n a { color: inherit; text-decoration: none; }
.lines .n a:hover { text-decoration: underline; }
main.site .lines .talk > td { white-space: normal; padding: .75rem .6rem; font-size: 1rem; }
.talk > td > div { position: sticky; left: .6rem; max-width: min(46rem, calc(100vw - 6rem)); }
.talk section:last-child { margin-bottom: 0; }
.lines tr:target td { background: var(--good-ground); }
.lines .m { width: 1%; padding: 0; }
.op-add td { background: var(--add); } .op-remove td { background: var(--remove); }
.op-add .n, .op-remove .n { color: var(--text); }
.gap td { color: var(--soft); text-align: center; background: var(--ground); }
.diff summary, details.card summary { cursor: pointer; overflow-wrap: anywhere; }
.diff summary .hint { display: inline; }
.diff .scroll { margin-top: .75rem; }
.plus { color: var(--s-good); } .minus { color: var(--s-bad); }
.status { border: 1px solid; border-radius: 1rem; padding: .05rem .6rem; font-size: .85rem; white-space: nowrap;
  color: var(--s-off); }
.s-success, .s-available, .s-open, .s-opened, .s-merged, .s-completed { color: var(--s-good); }
.s-failed, .s-canceled { color: var(--s-bad); }
.s-running, .s-in-progress { color: var(--s-run); }
.s-pending, .s-stopping, .s-manual, .s-warning, .s-waiting-for-resource, .s-created { color: var(--s-wait); }
.label { display: inline-flex; align-items: center; gap: .3rem; margin-right: .6rem; font-size: .9rem; }
.dot { width: .7rem; height: .7rem; flex: none; }
.prose { overflow-wrap: anywhere; }
.prose h1 { font-size: 1.4rem; margin-top: 1.25rem; } .prose h2 { font-size: 1.2rem; margin-top: 1.25rem; }
.prose img { max-width: 100%; height: auto; }
.prose pre { overflow-x: auto; padding: .75rem 1rem; background: var(--code-ground); border: 1px solid var(--line);
  border-radius: 6px; }
.prose pre code { overflow-wrap: normal; }
.prose table { width: auto; display: block; overflow-x: auto; }
.prose th, .prose td { border: 1px solid var(--line); padding: .3rem .6rem; white-space: normal; }
.prose blockquote { margin: 0 0 1rem; padding-left: 1rem; border-left: 4px solid var(--line); color: var(--soft); }
/* Deeper ones stand straight below each other: there is no room for a step each. */
.prose :is(blockquote blockquote blockquote, li li li li) :is(blockquote, ul, ol) {
  margin-left: 0; padding-left: 0; border-left-width: 1px; list-style-position: inside; }
.prose .task { list-style: none; }
.prose .task::before { content: "☐"; margin-left: -1.3em; margin-right: .4em; }
.prose .task.done::before { content: "☑"; }
.image img { max-width: 100%; height: auto; background: #fff; }
.two { display: grid; gap: 1.25rem; grid-template-columns: minmax(0, 1fr); }
@media (min-width: 60rem) { .two { grid-template-columns: minmax(0, 1fr) 18rem; align-items: start; } }
.side dl { grid-template-columns: 1fr; } .side dt { margin-top: .5rem; }
.comment .about { display: flex; flex-wrap: wrap; gap: .75rem; color: var(--soft); margin: 0 0 .75rem; }
.comment > details, section form details { margin: .75rem 0; }
.list td > a + a { margin-left: .75rem; }
.reply { margin: 1rem 0 0 1rem; padding-left: 1rem; border-left: 3px solid var(--line); }
.filter { display: flex; flex-wrap: wrap; gap: .75rem; align-items: end; margin: 0 0 1rem; }
.filter input, .filter select { width: auto; max-width: 100%; }
.filter input, .filter select, .filter button { height: 2.75rem; margin: 0; padding-top: 0; padding-bottom: 0; }
.choices label { display: flex; gap: .4rem; align-items: baseline; min-width: 0; overflow-wrap: anywhere; }
.choices input { flex: none; }
.entry { padding: .85rem 1.1rem; margin-bottom: .6rem; }
.entry .top { display: flex; flex-wrap: wrap; gap: .15rem .9rem; align-items: baseline; margin: 0 0 .25rem; }
.entry h2 { font-size: 1rem; margin: 0; } .entry .top time { margin-left: auto; color: var(--soft); }
.entry > .hint { margin: 0 0 .35rem; } .entry .actions { margin-bottom: 0; }
.list td .actions { margin: 0; } .list button.quiet { white-space: nowrap; }
select { font: inherit; color: inherit; background: var(--ground); border: 1px solid var(--soft);
  border-radius: 6px; padding: .5rem; }
select { max-width: 100%; }
.error { color: var(--bad); font-weight: 600; margin: .25rem 0 0; }
[aria-invalid] { border-color: var(--bad) !important; }
.actions > a:not(.button) { align-self: center; }
input[type=search] { padding: .5rem .7rem; font: inherit; color: inherit; background: var(--ground);
  border: 1px solid var(--soft); border-radius: 6px; }
.requirements { list-style: none; padding: 0; margin: 0 0 1rem; }
.requirements .met { color: var(--s-good); } .requirements .unmet { color: var(--s-bad); }
.graph { overflow: auto; max-height: 80vh; }
.graph svg { display: block; font: 14px system-ui, sans-serif; }
.graph .box { fill: var(--card); stroke: var(--line); }
.graph .edge { fill: none; stroke: var(--soft); }
.graph text { fill: var(--text); }
.graph a:focus-visible .box { stroke: var(--main); stroke-width: 3; }
.graph .mark { fill: var(--s-off); }
.graph .s-success .mark { fill: var(--s-good); } .graph .s-failed .mark, .graph .s-canceled .mark { fill: var(--s-bad); }
.graph .s-running .mark { fill: var(--s-run); }
.graph .s-pending .mark, .graph .s-manual .mark, .graph .s-warning .mark, .graph .s-waiting-for-resource .mark,
.graph .s-created .mark { fill: var(--s-wait); }
.plot .bar { fill: var(--main); } .plot svg { display: block; width: 100%; height: 11rem; }
.plot .ends { display: flex; justify-content: space-between; margin: .35rem 0 0; }
.word { white-space: nowrap; }
@media (max-width: 47.99rem) { .word { white-space: normal; } }
.line { display: flex; } .line .n { flex: none; width: 4.5em; padding-right: .8em; text-align: right; color: var(--soft);
  text-decoration: none; user-select: none; }
.line code { white-space: pre-wrap; overflow-wrap: anywhere; min-width: 0; } .line:target { background: var(--good-ground); }
.log { font-size: .85rem; line-height: 1.5; padding: .5rem 0; }
.log summary { cursor: pointer; padding: .1rem .6rem; font-weight: 600; }
.f0 { color: var(--a0); } .f1 { color: var(--a1); } .f2 { color: var(--a2); } .f3 { color: var(--a3); }
.f4 { color: var(--a4); } .f5 { color: var(--a5); } .f6 { color: var(--a6); } .f7 { color: var(--a7); }
.b { font-weight: 700; } .i { font-style: italic; } .u { text-decoration: underline; } .inv { font-weight: 700;
  outline: 1px solid; }
.sides { display: grid; gap: 1rem; grid-template-columns: minmax(0, 1fr); }
@media (min-width: 50rem) { .sides { grid-template-columns: 1fr 1fr; } }
.hljs-comment, .hljs-quote, .hljs-meta { color: var(--h-comment); }
.hljs-keyword, .hljs-selector-tag, .hljs-literal, .hljs-type, .hljs-doctag { color: var(--h-key); }
.hljs-string, .hljs-regexp, .hljs-addition, .hljs-template-tag { color: var(--h-string); }
.hljs-number, .hljs-symbol, .hljs-bullet, .hljs-deletion { color: var(--h-number); }
.hljs-title, .hljs-name, .hljs-attr, .hljs-attribute, .hljs-built_in, .hljs-section, .hljs-variable,
.hljs-selector-class, .hljs-selector-id { color: var(--h-name); }
.hljs-emphasis { font-style: italic; } .hljs-strong { font-weight: 700; }
.op-add .hljs-comment, .op-remove .hljs-comment { color: var(--text); }
`;

export const siteStyle: PageRoute = page({
  method: "get",
  path: "/page/site.css",
  operationId: "getSiteStylesheet",
  access: "anonymous",
  handle: async () => ({ document: stylesheet, type: "text/css; charset=utf-8", cache: true }),
});
