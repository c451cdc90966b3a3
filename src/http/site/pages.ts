import type { PageRoute } from "../page/route.ts";
import { siteStyle } from "./common/style.ts";
import { codePages } from "./repository/code-page.ts";
import { commitPages } from "./repository/commit-page.ts";
import { rawPages } from "./repository/raw.ts";
import { refPages } from "./repository/ref-page.ts";

/** Pages behind the addresses that the service sends. */
export const sitePages: readonly PageRoute[] = [
  ...codePages,
  ...commitPages,
  ...rawPages,
  ...refPages,
  siteStyle,
];
