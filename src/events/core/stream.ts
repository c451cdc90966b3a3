/**
 * Stream names are `category-id`. The category is camelCase and holds no dash, because the store
 * splits the name at the first one; the id is ASCII, because it travels in gRPC trailers.
 */
export function streamName(category: string, id: string): string {
  if (!/^[a-z][A-Za-z0-9]*$/.test(category)) throw new Error(`Bad stream category ${category}`);
  if (!/^[\x21-\x7e]+$/.test(id)) throw new Error(`Bad stream id in category ${category}`);
  return `${category}-${id}`;
}

export function idInStream(stream: string): string {
  return stream.slice(stream.indexOf("-") + 1);
}

export function categoryOf(stream: string): string {
  return stream.slice(0, stream.indexOf("-"));
}
