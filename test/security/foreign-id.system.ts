import { foreignIds } from "../support/access/foreign-ids.ts";

await foreignIds("whole");
