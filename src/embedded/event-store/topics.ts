/** The topic of the whole log; no stream can have this name. */
export const allTopic = "$all";

/**
 * Wakes subscriptions when something was written. One topic a stream: a commit costs the streams
 * it touched, not all subscriptions there are.
 */
export class Topics {
  readonly #watches = new Map<string, Set<() => void>>();

  /**
   * Watches a topic until the signal aborts. The function returned resolves once the topic was
   * woken since it last resolved (or the signal aborted), so that a wake while the caller was busy
   * reading is not missed.
   */
  watch(topic: string, signal: AbortSignal): () => Promise<void> {
    let woken = false;
    let resume: (() => void) | undefined;
    const wake = (): void => {
      woken = true;
      resume?.();
    };
    const watches = this.#watches.get(topic) ?? new Set();
    this.#watches.set(topic, watches.add(wake));
    const stop = (): void => {
      watches.delete(wake);
      if (watches.size === 0 && this.#watches.get(topic) === watches) this.#watches.delete(topic);
      wake();
    };
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });

    return async () => {
      if (!woken && !signal.aborted) {
        await new Promise<void>((resolve) => {
          resume = resolve;
        });
      }
      woken = false;
    };
  }

  wake(topic: string): void {
    for (const wake of this.#watches.get(topic) ?? []) wake();
  }

  wakeAll(): void {
    for (const topic of this.#watches.keys()) this.wake(topic);
  }
}
