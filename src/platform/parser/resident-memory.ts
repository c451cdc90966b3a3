import { readFileSync } from "node:fs";

/**
 * Resident memory of another process in MiB. Undefined where the system has no `/proc`, and for a process that
 * has ended. The file is made by the kernel at once: a turn of the event loop would cost more.
 */
export function residentMebibytes(pid: number): number | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "latin1");
    const start = status.indexOf("VmRSS:");
    return start < 0
      ? undefined
      : Number.parseInt(status.slice(start + "VmRSS:".length), 10) / 1024;
  } catch {
    return undefined;
  }
}
