/**
 * A signal that aborts after a time, also where it is only a part of `AbortSignal.any`: what that is made of is not kept
 * from being collected, and a signal of `AbortSignal.timeout` would go with its timer.
 */
export function timeoutSignal(ms: number): AbortSignal {
  const signal = AbortSignal.timeout(ms);
  // Node keeps a signal with a listener until its time is over.
  signal.addEventListener("abort", () => undefined, { once: true });
  return signal;
}
