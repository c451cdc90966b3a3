/**
 * The items of pages, one after another. They are requested one at a time: a generator would take several turns of promises for an item
 * that is there already, which is most of what reading a log takes then.
 */
export function flat<Item>(pages: AsyncGenerator<readonly Item[]>): AsyncIterableIterator<Item> {
  let page: readonly Item[] = [];
  let index = 0;
  let isOver = false;
  const next = async (): Promise<IteratorResult<Item>> => {
    while (!isOver) {
      const { done, value } = await pages.next();
      if (done === true) isOver = true;
      else if (value.length > 0) {
        page = value;
        index = 1;
        // There is one, which may be undefined for all that is known of the type.
        return { done: false, value: value[0] as Item };
      }
    }
    return { done: true, value: undefined };
  };
  return {
    next() {
      if (isOver || index >= page.length) return next();
      const value = page[index] as Item;
      index += 1;
      return Promise.resolve({ done: false, value });
    },
    async return() {
      isOver = true;
      await pages.return(undefined);
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
