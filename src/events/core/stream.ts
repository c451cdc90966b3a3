/**
 * Stream names are `category-id`. The category is camelCase and holds no dash, because the store
 * splits the name at the first one; the id is ASCII, because it travels in gRPC trailers.
 */
export function streamName(category: string, id: string): string {
  if (!categoryForm.test(category)) throw new Error(`Bad stream category ${category}`);
  if (!idForm.test(id)) throw new Error(`Bad stream id in category ${category}`);
  return `${category}-${id}`;
}

const categoryForm = /^[a-z][A-Za-z0-9]*$/;
const idForm = /^[\x21-\x7e]+$/;

/** Whether a name is one that `streamName` gives. */
export const isStreamName = (name: string): boolean =>
  categoryForm.test(categoryOf(name)) && idForm.test(idInStream(name));

export function idInStream(stream: string): string {
  return stream.slice(stream.indexOf("-") + 1);
}

export function categoryOf(stream: string): string {
  return stream.slice(0, stream.indexOf("-"));
}
