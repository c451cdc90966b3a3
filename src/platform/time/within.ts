/** What a task gives, if it is in time; the task itself goes on. @throws what `late` makes, when it is not */
export async function within<Result>(
  ms: number,
  task: PromiseLike<Result>,
  late: () => Error,
): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), ms);
  });
  try {
    return await Promise.race([task, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
