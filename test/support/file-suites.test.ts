import { expect } from "chai";
import Mocha, { type MochaGlobals, type Suite } from "mocha";

const { bdd } = Mocha.interfaces as unknown as Record<"bdd", (suite: Suite) => void>;

describe("the suites of test files", () => {
  const mocha = new Mocha();
  const root = new Mocha.Suite("", new Mocha.Context());
  root.root = true;
  const load = (file: string, run: (globals: MochaGlobals) => void) => {
    const globals = {} as MochaGlobals;
    root.emit("pre-require", globals, file, mocha);
    run(globals);
  };

  bdd(root);
  load("a.test.ts", (globals) => {
    globals.before("a starts", () => undefined);
    globals.it("is of a", () => undefined);
  });
  load("b.test.ts", (globals) => {
    globals.beforeEach("b begins", () => undefined);
    globals.describe("inside", () => {
      globals.it("is of b", () => undefined);
    });
  });

  it("hold the hooks of their file alone", () => {
    const [a, b] = root.suites as [Suite, Suite];
    expect([a.file, b.file]).to.deep.equal(["a.test.ts", "b.test.ts"]);
    const hooks = (suite: Suite) => [
      Reflect.get(suite, "_beforeAll"),
      Reflect.get(suite, "_beforeEach"),
    ];
    expect(hooks(root)).to.deep.equal([[], []]);
    expect(hooks(a).map(({ length }) => length)).to.deep.equal([1, 0]);
    expect(hooks(b).map(({ length }) => length)).to.deep.equal([0, 1]);
  });

  it("add nothing to the titles of tests", () => {
    const titles: string[] = [];
    root.eachTest((test) => titles.push(test.fullTitle()));
    expect(titles).to.deep.equal(["is of a", "inside is of b"]);
  });
});
