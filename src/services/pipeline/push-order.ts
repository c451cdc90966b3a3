/** The place of a pipeline among those of its push. */
export type Turn = Readonly<{
  /** Resolves once none of an earlier ref is being created. */
  come: () => Promise<void>;
  /** Lets those of later refs go on. */
  pass: () => void;
}>;

type UnderWay = Readonly<{ position: bigint; passed: Promise<void> }>;

/** By push, those that this process creates now. */
const pushes = new Map<string, Set<UnderWay>>();

/**
 * Keeps the pipelines of one push in the order of its refs, although they are created at the same time and each takes
 * its own time. It knows those of this process alone: one that is created by another process, or later because an
 * attempt failed, has its place by chance.
 *
 * @param push what its refs have in common
 * @param position of the event of the ref
 */
export function takeTurn(push: string, position: bigint): Turn {
  const others = pushes.get(push) ?? new Set();
  pushes.set(push, others);
  const { promise: passed, resolve } = withResolver();
  const own = { position, passed };
  others.add(own);
  return {
    async come() {
      for (;;) {
        const earlier = [...others].filter((each) => each.position < position);
        if (earlier.length === 0) return;
        await Promise.all(earlier.map((each) => each.passed));
      }
    },
    pass() {
      others.delete(own);
      if (others.size === 0 && pushes.get(push) === others) pushes.delete(push);
      resolve();
    },
  };
}

function withResolver() {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
