import { typeRules } from "../../../../support/package/type-rules.ts";

await typeRules("sample");
