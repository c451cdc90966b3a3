import { expect } from "chai";
import { z } from "zod";
import { slices } from "../../src/events/all.ts";
import type { EventSchemas } from "../../src/events/core/event.ts";
import { Sealed } from "../../src/events/core/sealed.ts";
import { mirrorStream } from "../../src/events/project/mirror.ts";
import { registryRepositoryStream } from "../../src/events/registry/repository.ts";
import { variableRoutes } from "../../src/http/api/pipeline/variable.ts";
import { webhookRoutes } from "../../src/http/api/webhook/webhook.ts";
import type { Route } from "../../src/http/core/route.ts";
import { pipelinesOf } from "../support/agent/pipeline-app.ts";
import { type Answer, startTestApp } from "../support/app/app.ts";
import { repositoriesAt } from "../support/client/registry.ts";

/** A person who cannot read a secret that another person wrote, and changes where it is sent, loses it. */

const app = await startTestApp();
const root = await app.givenUser("root", { admin: true });
const anna = await app.givenUser("anna");
const bob = await app.givenUser("bob");
const project = await app.givenProject(anna, "search");
const ci = pipelinesOf(app, anna, project);
const secret = "s3cret-of-anna";

/** As anna, who writes the secrets, and as bob, another administrator of the project. */
const as =
  ({ token }: { token: string }) =>
  (method: "post" | "put" | "delete" | "get", path: string, body?: unknown): Promise<Answer> =>
    app[method](ci.base + path, { token, ...(body !== undefined && { body }) });
const [byAnna, byBob] = [as(anna), as(bob)];

async function ok(answer: Promise<Answer>): Promise<Readonly<Record<string, unknown>>> {
  const { status, text, body } = await answer;
  expect(status, text).to.be.within(200, 204);
  return body;
}
const codeOf = async (answer: Promise<Answer>) => (await answer).body["code"];

before(async () => {
  await ci.commit({ ".forge-ci.yaml": "a: {script: x, when: manual}" }, "Add [skip ci]");
  await ok(byAnna("post", "/member/invite", { userAlias: "bob", role: "ADMIN" }));
});

async function lastData(stream: string): Promise<Readonly<Record<string, never>>> {
  let last: unknown;
  for await (const { data } of app.deps.store.readStream(stream)) last = data;
  return last as Readonly<Record<string, never>>;
}

async function lastEvent(type: string): Promise<unknown> {
  const body = await ok(byAnna("get", `/audit?type=${type}&size=1`));
  return (body["_embedded"] as { auditEntryList: { eventId: string }[] }).auditEntryList[0]
    ?.eventId;
}
const undone = async (type: string, by: typeof byAnna) =>
  by("post", "/undo", { eventId: await lastEvent(type) });

/** Where those who may change a thing may read its secret as well. */
function expectReadable(routes: readonly Route[], get: string, change: string): void {
  const rights = (id: string) => {
    const found = routes.find(({ operationId }) => operationId === id);
    expect(found, id).to.not.equal(undefined);
    return [found?.access, found?.scope];
  };
  expect(rights(get)).to.deep.equal(rights(change));
}

const connection = async (
  kind: "ldap" | "oidc",
  body: object,
  field: string,
  changes: object[],
) => {
  const { token } = root;
  const { uuid } = await ok(
    app.post(`/admin/${kind}`, { token, body: { ...body, [field]: secret } }),
  );
  const put = (change: object) =>
    app.put(`/admin/${kind}/${uuid}`, { token, body: { ...body, ...change } });
  expect((await put({ name: "Renamed" })).status).to.equal(200);
  for (const change of changes) {
    const { status, body: refusal } = await put(change);
    const [{ field: named } = { field: "" }] = refusal["errors"] as { field: string }[];
    expect([status, named], JSON.stringify(change)).to.deep.equal([422, field]);
  }
};

/** Sealed values of events that are sent somewhere, and what becomes of each. */
const sent: Readonly<Record<string, readonly [fields: RegExp, holds: () => Promise<unknown>]>> = {
  "the secret of a webhook is shown to all who may change its address": [
    /^Webhook(?:Created|Reconfigured)\.secret$/,
    async () => {
      expectReadable(webhookRoutes, "getWebhook", "changeWebhook");
      const hook = { url: "https://hooks.example.net/a", secret, events: { MERGE: true } };
      const { id } = await ok(byAnna("post", "/setting/webhook", hook));
      expect(await ok(byBob("get", `/setting/webhook/${id}`))).to.include({ secret });
    },
  ],
  "a variable of settings is shown to all who may change its scope": [
    /^PipelineVariable\w+\.settings\.value$/,
    async () => {
      for (const noun of ["Project", "Team", "Company", "Instance"]) {
        const [get, change] = ["get", "change"].map((verb) => `${verb}${noun}PipelineVariable`);
        expectReadable(variableRoutes, get!, change!);
      }
    },
  ],
  "the credentials of a mirror are for one configuration": [
    /^Mirror(?:Configured|Removed)\.(?:target|previous)\.credentials$/,
    async () => {
      const target = { type: "PUSH", url: "https://git.example.org/a.git" };
      await ok(byAnna("post", "/mirror", { ...target, token: secret }));
      await ok(byBob("post", "/mirror", { ...target, url: "https://git.example.net/a.git" }));
      const { target: stored } = await lastData(mirrorStream(project.id));
      expect(stored).to.include({ credentials: null });
      expect(await codeOf(undone("MirrorConfigured", byBob))).to.equal("undo.impossible");
    },
  ],
  "the credentials of a proxy are for one server": [
    /^RegistryRepository\w+\.(?:previous\.)?settings\.(?:username|token)$/,
    async () => {
      const base = `${ci.base}/repositories`;
      const url = "https://registry.example.org/npm/";
      const settings = { url, username: "robot", token: secret };
      const made = await repositoriesAt(app, base, anna.token).proxy("up", "npm", settings);
      const stored = async (proxySettings: object) => {
        const change = { type: "PROXY", proxySettings };
        const { change: send } = repositoriesAt(app, base, bob.token);
        expect((await send(made.repositoryUuid, change)).status).to.equal(200);
        return (await lastData(registryRepositoryStream(made.repositoryUuid)))["settings"];
      };
      expect(await stored({ isOffline: true })).not.to.include({ token: null });
      for (const other of ["http://registry.example.org/npm/", "https://registry.example.net/"]) {
        expect(await stored({ url: other })).to.include({ username: null, token: null });
        await stored({ url, username: "robot", token: secret });
      }
    },
  ],
  "the password of a directory is for one address, one encryption and one name": [
    /^LoginConnection\w+\.details\.bindPassword$/,
    () => {
      const at = { url: "ldap://10.1.2.3:389", startTls: true, bindDn: "cn=reader,dc=example" };
      return connection("ldap", { name: "D", baseDn: "dc=example", ...at }, "bindPassword", [
        { url: "ldap://10.6.6.6:389" },
        { url: "ldaps://10.1.2.3:636", startTls: false },
        { startTls: false, plaintext: true },
        { bindDn: "cn=other,dc=example" },
      ]);
    },
  ],
  "the secret of an OpenID client is for one issuer and one client": [
    /^LoginConnection\w+\.details\.clientSecret$/,
    () => {
      const provider = { issuer: "https://op.example.org", clientId: "forge" };
      return connection("oidc", { name: "P", ...provider }, "clientSecret", [
        { issuer: "https://op.example.net" },
        { clientId: "other" },
      ]);
    },
  ],
  "the variables of a schedule go with the person who wrote them": [
    /^PipelineSchedule\w+\.(?:settings\.)?variables$/,
    async () => {
      const body = { cron: "0 3 * * *", refName: "main", variables: [{ key: "A", value: secret }] };
      const { id } = await ok(byAnna("post", "/cicd/schedule", body));
      const change = { refName: "main", cron: "0 4 * * *" };
      expect(await codeOf(byBob("put", `/cicd/schedule/${id}`, change))).to.equal(
        "schedule.not_owner",
      );
      const taken = await ok(byBob("post", `/cicd/schedule/${id}/take-over`));
      expect(taken["variables"]).to.deep.equal([]);
      expect(await codeOf(undone("PipelineScheduleTakenOver", byBob))).to.equal("undo.impossible");
    },
  ],
  "the variables of a start meet none that another person gives a job": [
    /^(?:PipelineCreated|JobPlayed)\.variables$/,
    async () => {
      const given = { variables: [{ key: "A", value: secret }] };
      const play = async (by: typeof byAnna, started: object, body?: object) => {
        const { localId } = await ok(byAnna("post", "/cicd/pipeline/start", started));
        const [job] = await ci.jobs(localId);
        return by("post", `/cicd/job/${job?.["localId"]}/play`, body);
      };
      const leak = { variables: [{ key: "BASH_ENV", value: "leak.sh" }] };
      expect(await codeOf(play(byBob, given, leak))).to.equal("job.variables_of_others");
      for (const [by, started, body] of [
        [byBob, given, undefined],
        [byBob, {}, leak],
        [byAnna, given, leak],
      ] as const)
        expect((await play(by, started, body)).status).to.equal(200);
    },
  ],
};

/** Sealed values that are sent to no address that users set, and why. */
const kept: Readonly<Record<string, RegExp>> = {
  "about a person or a company, shown to administrators or themselves":
    /^(?:User|Company|SshKey|GpgKey|Invitation|Mail|Session|ExternalIdentity|Report)\w*\./,
  "compared here": /^(?:TwoFactorPrepared\.secret|OAuthApplicationCreated\.clientSecret)$/,
  "signs here": /^RegistrySigningKeyCreated\.privateKey$/,
  "not secret: certificates": /^LoginConnection\w+\.details\.(?:cert|caCert)$/,
  "what was sent and answered, shown to those who may change the webhook": /^WebhookDelivery\w+\./,
};

type Json = Readonly<Record<string, unknown>>;
const sealedPattern = (z.toJSONSchema(Sealed) as Json)["pattern"];
const structure = /^(?:\d+|properties|anyOf|oneOf|allOf|items|additionalProperties)$/;

/** Paths of all sealed values of a schema. */
function* sealedIn(schema: unknown, path: string): Generator<string> {
  if (schema === null || typeof schema !== "object") return;
  if ((schema as Json)["pattern"] === sealedPattern) yield path;
  for (const [key, part] of Object.entries(schema)) {
    yield* sealedIn(part, structure.test(key) ? path : `${path}.${key}`);
  }
}

const paths = Object.values<EventSchemas>(slices).flatMap((schemas) =>
  Object.entries(schemas).flatMap(([type, schema]) => {
    const json = z.toJSONSchema(schema, { unrepresentable: "any" });
    return [...new Set(sealedIn(json, type))];
  }),
);

describe("a secret that another person wrote", () => {
  const known = [...Object.values(sent).map(([fields]) => fields), ...Object.values(kept)];
  for (const path of paths) {
    it(`has a rule: ${path}`, () => {
      expect(known.filter((fields) => fields.test(path))).to.have.length(1);
    });
  }

  for (const [rule, [fields, holds]] of Object.entries(sent)) {
    it(`is lost with its destination: ${rule}`, async () => {
      expect(paths.some((path) => fields.test(path))).to.equal(true);
      await holds();
    });
  }
});

describe("an undo by another person", () => {
  it("gives no former secret of a webhook or variable back", async () => {
    const hook = { url: "https://hooks.example.net/a", secret, events: { MERGE: true } };
    const { id: hookId } = await ok(byAnna("post", "/setting/webhook", hook));
    const setting = "/setting/cicd/variable";
    const variable = { key: "UNDONE", value: secret };
    const { id } = await ok(byAnna("post", setting, variable));
    const changes = {
      WebhookReconfigured: () => byAnna("post", `/setting/webhook/${hookId}`, { secret: "other" }),
      WebhookDeleted: () => byAnna("post", `/setting/webhook/${hookId}/delete`),
      PipelineVariableChanged: () => byAnna("put", `${setting}/${id}`, { value: "other" }),
      PipelineVariableDeleted: () => byAnna("delete", `${setting}/${id}`),
    };
    for (const [type, change] of Object.entries(changes)) {
      await ok(change());
      expect(await codeOf(undone(type, byBob)), type).to.equal("undo.impossible");
    }
    await ok(undone("PipelineVariableDeleted", byAnna));
  });

  it("takes back what concerns no secret", async () => {
    const hook = { url: "https://hooks.example.net/a", secret, events: { MERGE: true } };
    const { id } = await ok(byAnna("post", "/setting/webhook", hook));
    await ok(byAnna("post", `/setting/webhook/${id}`, { url: "https://hooks.example.net/b" }));
    await ok(undone("WebhookReconfigured", byBob));
    const { url, secret: stays } = await ok(byAnna("get", `/setting/webhook/${id}`));
    expect([url, stays]).to.deep.equal([hook.url, secret]);
    const setting = "/setting/cicd/variable";
    const { id: variableId } = await ok(byAnna("post", setting, { key: "B", value: "value-of-b" }));
    await ok(byAnna("put", `${setting}/${variableId}`, { protected: true }));
    await ok(undone("PipelineVariableChanged", byBob));
    expect(await ok(byAnna("get", `${setting}/${variableId}`))).to.include({
      protected: false,
      value: "value-of-b",
    });
  });
});
