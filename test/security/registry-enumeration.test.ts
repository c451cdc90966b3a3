import { registryEnumeration } from "../support/access/registry-enumeration.ts";

// Family 21: names of repositories that a caller may not read.
await registryEnumeration("sample");
