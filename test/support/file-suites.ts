import Mocha, { type MochaGlobals, type Suite } from "mocha";

import { compiled } from "./compiled.ts";

const { bdd } = Mocha.interfaces as Record<"bdd", (suite: Suite) => void>;

/**
 * Gives the tests of each file a suite of their own. What a file runs before and after its tests, outside of any
 * `describe`, is of the root suite otherwise: in a process that runs several files it runs around the tests of all of
 * them, and what each has started lives until the last of them ends.
 */
function bddOfFiles(root: Suite): void {
  root.on("pre-require", (context: MochaGlobals, file: string, mocha: Mocha) => {
    const suite = new Mocha.Suite("", root.ctx);
    root.addSuite(suite);
    // Without a title in those of its tests.
    suite.root = true;
    suite.file = file;
    bdd(suite);
    suite.emit("pre-require", context, file, mocha);
  });
}

Object.assign(Mocha.interfaces, { bdd: bddOfFiles });

type Loading = Mocha & { lazyLoadFiles: (enable: boolean) => void };
const prototype = Mocha.prototype as unknown as { loadFilesAsync: () => Promise<Mocha> };

/** As mocha does it, which lists the sources of tests and names them in reports; what runs are the compiled files. */
prototype.loadFilesAsync = async function (this: Loading) {
  this.lazyLoadFiles(true);
  for (const file of this.files) {
    this.suite.emit("pre-require", globalThis, file, this);
    const loaded: unknown = await import(compiled(file));
    this.suite.emit("require", loaded, file, this);
    this.suite.emit("post-require", globalThis, file, this);
  }
  return this;
};
