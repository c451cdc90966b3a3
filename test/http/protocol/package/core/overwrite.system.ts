import { expect } from "chai";

import { nativeRegistry } from "../../../../support/client/native-registry.ts";
import { type PackageUpload, packageUploads } from "../../../../support/package/package-upload.ts";

const { app, anna, at, baseOf, bytes, held } = await nativeRegistry();
const uploads = packageUploads("ours");

const sent = (base: string, { method, path, type, body }: PackageUpload, more: object = {}) =>
  fetch(`${base}/${path}`, {
    method,
    headers: { authorization: `Bearer ${anna.token}`, "content-type": type, ...more },
    body: new Uint8Array(body),
  });

/** How the client of a type takes a refusal, so that it prints it. */
const messageIn: Readonly<Record<string, (body: string) => string>> = {
  npm: (body) => (JSON.parse(body) as { error: string }).error,
  cargo: (body) => (JSON.parse(body) as { errors: { detail: string }[] }).errors[0]?.detail ?? "",
};

describe("a repository that prohibits overwriting", () => {
  for (const [type, upload] of Object.entries(uploads)) {
    it(`takes a path once, of eight at a time and the same bytes: ${type}`, async () => {
      await at.local(type, type, { packageReuploadType: "NONE" });
      const base = baseOf(type);
      const key = { "idempotency-key": `first-${type}` };
      const first = await sent(base, upload, key);
      expect(first.status, await first.clone().text()).to.be.oneOf([200, 201]);
      const again = await sent(base, upload);
      const body = await again.text();
      expect(again.status, body).to.equal(409);
      expect((messageIn[type] ?? String)(body)).to.match(/already exists/);
      expect(again.statusText).to.match(/already exists/);
      const repeated = await sent(base, upload, key);
      expect([repeated.status, await repeated.text()]).to.deep.equal([
        first.status,
        await first.text(),
      ]);
      expect((await bytes(`${base}/${upload.file}`)).equals(upload.content)).to.equal(true);
      await at.local(`${type}-race`, type, { packageReuploadType: "NONE" });
      const race = Array.from({ length: 8 }, () => sent(baseOf(`${type}-race`), upload));
      const statuses = (await Promise.all(race)).map(({ status }) => status);
      expect(statuses.filter((status) => status === 409)).to.have.length(7);
      expect(statuses.filter((status) => status < 300)).to.have.length(1);
      expect(await held()).to.equal(0);
    });
  }

  it("gives a refusal under a key again in the form of its client", async () => {
    const key = { "idempotency-key": "second" };
    const answers = [1, 2].map(async () => {
      const answer = await sent(baseOf("cargo"), uploads["cargo"] as PackageUpload, key);
      return [answer.status, messageIn["cargo"]?.(await answer.text())];
    });
    const [one, other] = await Promise.all(answers);
    expect(one).to.deep.equal(other);
    expect(one?.[0]).to.equal(409);
  });

  it("takes a file of conda over REST once", async () => {
    const { repositoryUuid } = await at.local("rest", "conda", { packageReuploadType: "NONE" });
    const { content } = uploads["conda"] as PackageUpload;
    const path = `/project/anna/forge/repositories/${repositoryUuid}/conda/tool-1.0-py_0.conda`;
    const put = (more: Record<string, string> = {}) =>
      app.put(path, { token: anna.token, body: content, headers: more });
    const key = { "idempotency-key": "rest" };
    const first = await put(key);
    expect(first.status, first.text).to.equal(200);
    expect((await put()).status).to.equal(409);
    expect((await put(key)).body).to.deep.equal(first.body);
  });
});
