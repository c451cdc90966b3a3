/** A registration of many versions takes long. */
export { parseRegistration as run } from "./registration.ts";
