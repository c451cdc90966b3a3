/** `%`, `_` and the backslash are literal in what a user typed. */
export const escapeLike = (text: string): string => text.replaceAll(/[\\%_]/g, "\\$&");
