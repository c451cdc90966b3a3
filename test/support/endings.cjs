// The kinds of files with tests, by their endings: `npm test` runs the first, `npm run check` those of `check`.
exports.kinds = ["test", "system", "check", "kills", "faults"];
const ending = new RegExp(`\\.(${exports.kinds.join("|")})\\.ts$`);

/** Mocha imports a file that ends so at once, and tries `require` on others first. */
exports.compiledName = (name) => name.replace(ending, ".$1.mjs").replace(/\.ts$/, ".js");
