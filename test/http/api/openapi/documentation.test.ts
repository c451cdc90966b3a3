import { expect } from "chai";

import { documentation } from "../../../../src/http/api/openapi/documentation.ts";
import { routes } from "../../../../src/http/routes.ts";
import { serveRoutes } from "../../../support/app/machinery.ts";

const { url } = await serveRoutes(routes, { before: [documentation(routes)] });

describe("the documentation", () => {
  it("is one document at /openapi.json, under both bases", async () => {
    for (const path of ["/openapi.json", "/rest-api/openapi.json"]) {
      const response = await fetch(url + path);
      expect(response.headers.get("content-type")).to.contain("application/json");
      expect(await response.json()).to.include({ openapi: "3.1.0" });
    }
  });

  it("is a page that loads everything from here, and may load nothing else", async () => {
    const response = await fetch(`${url}/docs`);
    const page = await response.text();
    const sources = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, source]) => source);
    expect(sources).to.have.length(4);
    for (const source of sources) {
      const asset = await fetch(url + source);
      expect(asset.status, source).to.equal(200);
      expect(asset.headers.get("content-type")).to.match(
        /^(?:text\/(?:css|javascript)|image\/png)/,
      );
      expect((await asset.arrayBuffer()).byteLength).to.be.greaterThan(50);
    }
    expect(page).not.to.match(/https?:|<script>/);
    const policy = response.headers.get("content-security-policy");
    expect(policy).to.contain("default-src 'none'; script-src 'self';");
    expect(policy).not.to.contain("http");
  });

  for (const path of ["/docs/../package.json", "/docs/package.json", "/docs/%2e%2e/x", "/docs/x"]) {
    it(`has nothing at ${path}`, async () => {
      expect((await fetch(url + path)).status).to.equal(404);
    });
  }

  it("is only read", async () => {
    expect((await fetch(`${url}/openapi.json`, { method: "POST" })).status).to.equal(404);
  });
});
