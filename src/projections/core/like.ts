/** `%`, `_` and the backslash stand for themselves in what a user typed. */
export const escapeLike = (text: string): string => text.replaceAll(/[\\%_]/g, "\\$&");
