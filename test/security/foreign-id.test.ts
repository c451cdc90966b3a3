import { foreignIds } from "../support/access/foreign-ids.ts";

// Family 14: ids of things of others, at every place where an id can be.
await foreignIds("sample");
