import Mocha, { type MochaGlobals, type Suite } from "mocha";

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
