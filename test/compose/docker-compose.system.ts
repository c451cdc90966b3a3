import { readFile } from "node:fs/promises";
import { Ajv2019 } from "ajv/dist/2019.js";
import { expect } from "chai";
import { parse } from "yaml";

import { readSettings, requireStores, variableNames } from "../../src/config.ts";
import { roleNames } from "../../src/main.ts";
import { serverVersionProblem } from "../../src/platform/event-store/server-version.ts";

type ComposeService = Readonly<{
  build?: string;
  image?: string;
  command?: readonly string[];
  restart?: string;
  environment?: Readonly<Record<string, string>>;
  ports?: readonly string[];
  volumes?: readonly string[];
  healthcheck?: unknown;
  depends_on?: Readonly<Record<string, unknown>>;
}>;
type Compose = Readonly<{
  services: Readonly<Record<string, ComposeService>>;
  volumes: Readonly<Record<string, unknown>>;
}>;

/** What an operator must bring; everything else has a default. */
const secrets = {
  SECRET_KEY: "s".repeat(64),
  POSTGRES_PASSWORD: "postgresPassword",
  ADMIN_PASSWORD: "administratorPassword",
};

const text = await readFile("docker-compose.yml", "utf8");
const compose = parse(text, { merge: true }) as Compose;
const services = Object.entries(compose.services);
const roles = services.filter(([, { build }]) => build !== undefined);
const stores = services.filter(([, { image }]) => image !== undefined);

describe("docker-compose.yml", () => {
  it("keeps the schema of the Compose Specification", async () => {
    const file = await readFile("test/support/compose-spec/compose-spec.json", "utf8");
    // Its ids are of an older draft than it names.
    const { $schema: _, ...schema } = JSON.parse(file.replaceAll(/"id": "[^"]*",/g, ""));
    const validate = new Ajv2019({ strict: false, validateFormats: false }).compile(schema);
    expect(validate(compose), JSON.stringify(validate.errors)).to.equal(true);
    expect(validate({ ...compose, services: { http: { comand: [] } } })).to.equal(false);
  });

  it("starts every role, and nothing else of ours", () => {
    const started = roles.map(([, { command }]) => command);
    expect(started).to.deep.equal(roleNames.map((name) => ["start", name]));
  });

  for (const [name, { environment = {} }] of roles) {
    it(`gives ${name} a configuration it starts with, once the secrets are given`, () => {
      const config = requireStores(readSettings(interpolate(environment, secrets)));
      expect(config.databaseUrl).to.include(secrets.POSTGRES_PASSWORD);
      expect(config.redisUrl).to.equal("redis://redis:6379");
      expect(config.host).to.equal("0.0.0.0");
    });

    it(`sets nothing for ${name} that is not read`, () => {
      expect(Object.keys(environment).filter((key) => !variableNames.includes(key))).to.deep.equal(
        [],
      );
    });

    it(`gives ${name} the addresses of services that exist, at ports they listen on`, () => {
      const { DATABASE_URL, EVENTSTORE_URL, REDIS_URL } = interpolate(environment, secrets);
      const places = [DATABASE_URL, EVENTSTORE_URL, REDIS_URL].map((url) => new URL(url!));
      expect(places.map(({ hostname, port }) => `${hostname}:${port}`)).to.deep.equal([
        "postgres:5432",
        "eventstore:2113",
        "redis:6379",
      ]);
      for (const { hostname } of places) expect(compose.services).to.have.property(hostname);
    });
  }

  it("requires every secret and has none in it", () => {
    for (const name of Object.keys(secrets)) {
      expect(() => interpolate({ x: `\${${name}:?}` }, {})).to.throw(name);
      expect(text).to.include(`\${${name}:?}`);
      expect(text).to.not.match(new RegExp(`\\$\\{${name}:?-`));
    }
  });

  it("pins every image, keeps its data in a volume and knows whether it is well", () => {
    for (const [name, { image, volumes, healthcheck }] of stores) {
      expect(image, name).to.match(/:\d+\.\d+(\.\d+)?(-\w+)*$/);
      expect(volumes, name).to.not.equal(undefined);
      expect(healthcheck, name).to.not.equal(undefined);
    }
    expect(compose.services["http"]).to.have.property("healthcheck");
  });

  it("declares every volume it uses, and waits for services that exist", () => {
    for (const [name, { volumes = [], depends_on = {} }] of services) {
      for (const volume of volumes)
        expect(compose.volumes, name).to.have.property(volume.split(":")[0]!);
      for (const other of Object.keys(depends_on)) expect(compose.services).to.have.property(other);
    }
  });

  it("publishes ports on loopback alone", () => {
    const published = services.flatMap(([, { ports = [] }]) => ports);
    expect(published).to.not.deep.equal([]);
    for (const port of published) expect(port).to.match(/^127\.0\.0\.1:\d+:\d+$/);
  });

  it("names the licence of the event store", () => {
    const { eventstore } = compose.services;
    const isFree = /:2[0-3]\.\d+\./.test(eventstore?.image ?? "");
    const licence = isFree
      ? /# EventStoreDB .*BSD 3-Clause/
      : /# (?:EventStoreDB|KurrentDB) .*ESLv2|KLv1/;
    expect(text).to.match(licence);
  });

  it("has an event store of a supported version that is started again however it ends", () => {
    const { eventstore } = compose.services;
    const version = /:(\d+\.\d+\.\d+)-/.exec(eventstore?.image ?? "")?.[1] ?? "";
    expect(serverVersionProblem(version)).to.equal(undefined);
    expect(eventstore?.restart).to.equal("always");
  });
});

describe("Dockerfile", () => {
  it("copies only what exists, leaves nothing out that the build reads, and is not root", async () => {
    const dockerfile = await readFile("Dockerfile", "utf8");
    const ignored = await readFile(".dockerignore", "utf8");
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, names]) =>
      names!.split(" "),
    );
    for (const name of copied) expect(ignored.split("\n"), name).to.include(`!${name}`);
    expect(dockerfile).to.match(/^USER node$/m);
    expect(dockerfile).to.match(/^FROM node:24-bookworm-slim$/m);
  });

  it("starts roles below an init process, since the first process cannot be killed", async () => {
    const dockerfile = await readFile("Dockerfile", "utf8");
    const [, entry = ""] = /^ENTRYPOINT \["(.+)"\]$/m.exec(dockerfile) ?? [];
    expect(entry.split('", "')).to.deep.equal(["tini", "--", "node", "bin/ledgerforge.js"]);
    expect(dockerfile).to.match(/apt-get install [^&]*\btini\b/);
  });
});

/** As Compose does: `${NAME:?}` must be set, `${NAME:-default}` need not. */
function interpolate(
  environment: Readonly<Record<string, string>>,
  given: Readonly<Record<string, string>>,
): Record<string, string> {
  const replace = (value: string): string =>
    value.replaceAll(
      /\$\{(\w+):([?-])([^}]*)\}/g,
      (_, name: string, kind: string, rest: string) => {
        if (given[name] !== undefined) return given[name];
        if (kind === "?") throw new Error(`${name} is required`);
        return rest;
      },
    );
  return Object.fromEntries(
    Object.entries(environment).map(([key, value]) => [key, replace(value)]),
  );
}
