/**
 * Waits for all statements that were sent without waiting, so that none goes on in a transaction that is over.
 *
 * @throws what failed first: in a transaction others fail after it
 */
export async function allOf(work: readonly PromiseLike<unknown>[]): Promise<void> {
  const failures: unknown[] = [];
  const noted = (error: unknown): void => void failures.push(error);
  await Promise.all(work.map((each) => Promise.resolve(each).catch(noted)));
  if (failures.length > 0) throw failures[0];
}
