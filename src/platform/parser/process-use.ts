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

/** USER_HZ, on every architecture that Node.js runs on. */
const ticksPerSecond = 100;

/** Time of processors that another process has taken, all its threads together; undefined as above. */
export function processorMs(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name in parentheses may have spaces. Of what follows, see proc_pid_stat(5): utime and stime.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return ((Number(fields[11]) + Number(fields[12])) * 1_000) / ticksPerSecond;
  } catch {
    return undefined;
  }
}
