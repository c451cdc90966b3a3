import { fuzz } from "../../support/access/fuzz.ts";

await fuzz("whole");
