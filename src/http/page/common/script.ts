import { type PageRoute, page } from "../core/route.ts";

/** Moves what a page shows. The service escapes what it sends; without the script the page is read by reloading. */
const script = `"use strict";
for (const log of document.querySelectorAll("[data-live-log]")) {
  const source = new EventSource(log.dataset.liveLog);
  source.onmessage = ({ data }) => {
    const isAtEnd = innerHeight + scrollY > document.body.scrollHeight - 80;
    log.insertAdjacentHTML("beforeend", JSON.parse(data));
    if (isAtEnd) scrollTo(0, document.body.scrollHeight);
  };
  source.addEventListener("end", () => source.close());
}
const renew = async (id) => {
  const part = '[data-renewed-with="' + CSS.escape(id) + '"]';
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const [shown, fresh] = [document, page].map((each) => each.querySelector(part));
  if (shown && fresh) shown.replaceWith(fresh);
};
for (const whole of document.querySelectorAll("[data-live-status]")) {
  const source = new EventSource(whole.dataset.liveStatus);
  const classOf = (status) => "s-" + status.toLowerCase().replaceAll("_", "-");
  source.onmessage = ({ data }) => {
    for (const [id, status] of Object.entries(JSON.parse(data))) {
      const words = status.replaceAll("_", " ").toLowerCase();
      for (const one of document.querySelectorAll('[data-box="' + CSS.escape(id) + '"]')) {
        one.setAttribute("class", classOf(status));
        const title = one.querySelector("title");
        if (title) title.textContent = title.textContent.replace(/: [^:]*$/, ": " + words);
      }
      for (const one of document.querySelectorAll('[data-status="' + CSS.escape(id) + '"] .status')) {
        if (one.textContent !== words && one.closest("[data-renewed-with]")) void renew(id);
        one.className = "status " + classOf(status);
        one.textContent = words;
      }
    }
  };
  source.addEventListener("cells", ({ data }) => {
    for (const [id, markup] of Object.entries(JSON.parse(data))) {
      const cell = document.querySelector('[data-cell="' + CSS.escape(id) + '"]');
      if (cell) cell.innerHTML = markup;
    }
  });
  source.addEventListener("end", () => source.close());
}
`;

export const livePath = "/page/live.js";

export const liveScript: PageRoute = page({
  method: "get",
  path: livePath,
  operationId: "getLiveScript",
  access: "anonymous",
  handle: async () => ({ document: script, type: "text/javascript; charset=utf-8", cache: true }),
});
