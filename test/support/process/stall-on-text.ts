/** A text in JSON at which a process of the role http stands still for ever. */
export const stallText = "let the event loop stand still";

// Loaded before the service by tests that start it: it has no code of its own that can be made to stand still.
if (process.argv.includes("http")) {
  const parse = JSON.parse;
  JSON.parse = (text: string, ...rest: []) => {
    while (String(text).includes(stallText)) Math.random();
    return parse(text, ...rest);
  };
}
