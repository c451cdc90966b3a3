import { pageAccess } from "../../../support/access/pages.ts";

await pageAccess("sample");
