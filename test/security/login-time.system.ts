import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { expect } from "chai";

import { startTestApp } from "../support/app/app.ts";
import { ratio, settled } from "../support/app/measure.ts";
import {
  exchange,
  givenApplication,
  givenCode,
  type TestApplication,
} from "../support/app/oauth.ts";
import { browser, hiddenFields, type Shown } from "../support/client/browser.ts";
import { peopleDn, reader, startSlapd } from "../support/client/slapd.ts";
import { change, connectionOf, openLoginPages } from "../support/client/sso.ts";
import { needsProgram } from "../support/process/program.ts";

/**
 * Family 21 at the pages and at the token endpoint: neither the answer nor the time it takes reveals
 * whether there is such an account, here or in a directory.
 */

const app = await startTestApp({ reachesLoopback: true });
const root = await app.givenUser("root", { admin: true });
const anna = await app.givenUser("anna", { dearHash: true });
const wrong = "not the password";
const people = [{ uid: "clara", password: "clara's secret", mail: "clara@dir.example.org" }];
/** Requests to the directory: the operation of each message, by its tag in RFC 4511. */
const questions: number[] = [];
const port = await slowLine((await startSlapd(people)).port, 40);
let count = 0;
const nobody = () => {
  count += 1;
  return `nobody-${count}`;
};

before(async () => {
  await openLoginPages(app, root);
  await change(app, root, "lock-account", { lockUser: true, maxAttempts: 1_000 });
});

/** Neither takes longer than the other, within these bounds; see settled. */
async function expectAlike(
  bounds: readonly [number, number],
  known: () => Promise<unknown>,
  unknown: () => Promise<unknown>,
  rounds?: number,
) {
  const measure = async () => {
    // Over a limit nothing is done, in no time.
    for (const limit of ["ask", "link"]) {
      await app.deps.counters.delete(`anonymous-${limit}:127.0.0.1`);
    }
    return ratio(known, unknown, rounds);
  };
  expect(await settled(measure, bounds)).to.be.within(...bounds);
}

/** A form of which the same page is sent again and again. */
async function form(path: string) {
  const visitor = browser(app.url);
  const fields = hiddenFields((await visitor.open(path)).text, path.split("?")[0] ?? "");
  return (more: Readonly<Record<string, string>>) =>
    visitor.post(path.split("?")[0] ?? "", { ...fields, ...more });
}

/** What a page says, apart from what was typed into it. */
const visible = ({ status, text, headers }: Shown, typed: string) => [
  status,
  text.replaceAll(typed, "…"),
  [...headers].filter(([name]) => !/^(content-length|date|x-request-id)$/.test(name)),
];

describe("the login page", () => {
  for (const login of [anna.alias, `${anna.alias}@example.org`]) {
    it(`answers a wrong password of ${login} as it answers nobody, word for word`, async () => {
      const send = await form("/login?choose=1");
      const name = nobody();
      const known = visible(await send({ login, password: wrong }), login);
      expect(known[0]).to.equal(403);
      expect(visible(await send({ login: name, password: wrong }), name)).to.deep.equal(known);
    });
  }

  it("takes as long for both", async () => {
    const send = await form("/login?choose=1");
    const known = () => send({ login: anna.alias, password: wrong });
    const unknown = () => send({ login: nobody(), password: wrong });
    // A hash that is left out is a factor of fifty.
    await expectAlike([0.4, 2.5], known, unknown, 3);
  });
});

describe("with a directory, which takes its time", () => {
  needsProgram("slapd", "slapadd");
  let path = "";
  before(async () => {
    const body = {
      name: "Directory",
      url: `ldap://127.0.0.1:${port}`,
      plaintext: true,
      baseDn: peopleDn,
      bindDn: reader.dn,
      bindPassword: reader.password,
      userFilter: "(uid={login})",
    };
    path = `/login/ldap/${await connectionOf(app, root, "ldap", body)}`;
    const send = await form(`${path}?returnTo=/console`);
    const { location } = await send({ login: "clara", password: "clara's secret" });
    expect(location).to.equal("/console");
  });

  it("its page answers nobody as it answers a wrong password, in the same time", async () => {
    const send = await form(`${path}?returnTo=/console`);
    const name = nobody();
    const known = visible(await send({ login: "clara", password: wrong }), "clara");
    expect(known[0]).to.equal(403);
    expect(visible(await send({ login: name, password: wrong }), name)).to.deep.equal(known);
    const logIn = () => send({ login: "clara", password: wrong });
    const others = () => send({ login: nobody(), password: wrong });
    expect(await questionsOf(others)).to.deep.equal(await questionsOf(logIn));
    // Each question to the directory counts here: one more or less would show.
    await expectAlike([0.8, 1.25], logIn, others);
  });

  for (const login of ["clara", anna.alias]) {
    it(`the login page takes as long for ${login} as for nobody`, async () => {
      const send = await form("/login?choose=1");
      const logIn = () => send({ login, password: wrong });
      const others = () => send({ login: nobody(), password: wrong });
      expect(await questionsOf(others)).to.deep.equal(await questionsOf(logIn));
      await expectAlike([0.7, 1.4], logIn, others, 5);
    });
  }

  it("the login page checks it for nobody else's password", async () => {
    const send = await form("/login?choose=1");
    const { status } = await send({ login: anna.alias, password: "clara's secret" });
    expect(status).to.equal(403);
  });
});

describe("a forgotten password", () => {
  it("is answered alike for unknown and known users, in the same time", async () => {
    const send = await form("/account/forgot-password");
    const name = `${nobody()}@example.org`;
    const known = visible(await send({ email: "anna@example.org" }), "anna@example.org");
    expect(known[0]).to.equal(200);
    expect(visible(await send({ email: name }), name)).to.deep.equal(known);
    let somebody = 0;
    const users = await Promise.all(
      Array.from({ length: 60 }, (_, n) => app.givenUser(`somebody-${n}`)),
    );
    // Each address once: over the limit of mails nothing is written.
    const requestReset = () => send({ email: `${users[somebody++]?.alias}@example.org` });
    const others = () => send({ email: `${nobody()}@example.org` });
    await expectAlike([0.4, 2.5], requestReset, others);
  });

  it("is set by no link that was not sent, in the same time for any named user", async () => {
    const link = (holder: string) => holder.replaceAll("-", "") + "a".repeat(64);
    const set = (holder: string) =>
      app.post("/user/password-reset/confirm", {
        body: {
          token: link(holder),
          password: "a new password",
          passwordConfirm: "a new password",
        },
      });
    const known = await set(anna.id);
    const unknown = await set(randomUUID());
    expect([known.status, known.body["code"]]).to.deep.equal([422, "link.invalid"]);
    expect([unknown.status, unknown.body["code"]]).to.deep.equal([422, "link.invalid"]);
    await expectAlike(
      [0.3, 3.3],
      () => set(anna.id),
      () => set(randomUUID()),
    );
  });
});

describe("the token endpoint", () => {
  let own: TestApplication;
  let foreign: TestApplication;
  before(async () => {
    own = await givenApplication(app, anna);
    foreign = await givenApplication(app, root);
  });

  it("answers an unknown application as one with a wrong secret, in the same time", async () => {
    const call = (clientId: string) =>
      exchange(app, { ...own, clientId, clientSecret: wrong }, "x");
    const [known, unknown] = [await call(own.clientId), await call(randomUUID())];
    expect(known.status).to.equal(401);
    expect([unknown.status, unknown.text]).to.deep.equal([known.status, known.text]);
    await expectAlike(
      [0.3, 3.3],
      () => call(own.clientId),
      () => call(randomUUID()),
    );
  });

  it("answers a code of another application as one that nobody has, in the same time", async () => {
    const visitor = browser(app.url);
    await visitor.logIn(anna);
    const code = await givenCode(visitor, foreign);
    const [known, unknown] = [await exchange(app, own, code), await exchange(app, own, "x")];
    expect(known.status).to.equal(400);
    expect([unknown.status, unknown.text]).to.deep.equal([known.status, known.text]);
    await expectAlike(
      [0.3, 3.3],
      () => exchange(app, own, code),
      () => exchange(app, own, nobody()),
    );
    expect((await exchange(app, foreign, code)).status).to.equal(200);
  });
});

const unbind = 0x42;

/** Of the messages in these bytes, which are short here, and written whole; that they end counts not. */
function operationsOf(bytes: Buffer): number[] {
  const operations: number[] = [];
  for (let at = 0; at < bytes.length; ) {
    const long = (bytes[at + 1] ?? 0) > 0x7f ? (bytes[at + 1] ?? 0) & 0x7f : 0;
    const length = long === 0 ? (bytes[at + 1] ?? 0) : bytes.readUIntBE(at + 2, long);
    const content = at + 2 + long;
    operations.push(bytes[content + 2 + (bytes[content + 1] ?? 0)] ?? 0);
    at = content + length;
  }
  return operations.filter((operation) => operation !== unbind);
}

async function questionsOf(act: () => Promise<unknown>): Promise<readonly number[]> {
  questions.length = 0;
  await act();
  expect(questions).not.to.deep.equal([]);
  return [...questions];
}

/** A way to a port of this machine on which each answer takes so long. @returns its port */
async function slowLine(port: number, delayMs: number): Promise<number> {
  const open = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(port, "127.0.0.1");
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(socket);
      socket.on("error", () => other.destroy());
      socket.on("close", () => setTimeout(() => other.destroy(), delayMs + 10));
    }
    near.on("data", (bytes) => questions.push(...operationsOf(bytes)));
    near.pipe(far);
    far.on("data", (bytes) => setTimeout(() => near.write(bytes), delayMs));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  after(() => {
    server.close();
    for (const socket of open) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}
