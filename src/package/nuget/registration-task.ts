/** A registration of many versions takes long. */
export { askRegistration as run } from "./registration.ts";
