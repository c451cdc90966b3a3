import { expect } from "chai";

import { authenticate } from "../../../src/http/access/authenticate.ts";
import { limitFigures } from "../../../src/platform/limit.ts";
import { startTestApp } from "../../support/app/app.ts";
import { eventually } from "../../support/app/eventually.ts";

const app = await startTestApp();
const { password: basic } = authenticate(app.deps);

const hashes = () => limitFigures().find(({ name }) => name === "password.hashes");

describe("passwords from one network", () => {
  it("leave room for those from others, and wait for one another", async () => {
    const anna = await app.givenUser("anna");
    const flood = Array.from({ length: 3 }, (_, n) =>
      basic(`nobody${n}`, "wrong password", `203.0.113.${n + 1}`),
    );
    await eventually(() => hashes()?.waiting !== 0);
    expect(hashes()).to.include({ inUse: 1 });
    let isFloodOver = false;
    const over = Promise.all(flood).then(() => {
      isFloodOver = true;
    });
    expect((await basic("anna", anna.password, "198.51.100.7"))?.id).to.equal(anna.id);
    expect(isFloodOver).to.equal(false);
    await over;
  });
});
