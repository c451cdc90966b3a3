import { registryRepository } from "../../../src/commands/registry/repository.ts";
import { RegistryRepositoryId, UserId } from "../../../src/events/core/ids.ts";
import { Sealed } from "../../../src/events/core/sealed.ts";
import type {
  RegistryRepositoryEvent,
  RepositorySettings,
} from "../../../src/events/registry/repository.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

const given = specify(registryRepository);
const by = UserId.parse("7d4f4c0e-7f55-4c6c-9a35-0d4bb5f2ab01");
const repositoryId = RegistryRepositoryId.parse("6a4f5e4d-3c2b-4a1f-8e0d-9c8b7a695847");
const owner = { ownerType: "PROJECT", ownerId: "0c4b7a8e-4c77-4a8e-9df1-3f1f3c0a7b02" } as const;
const other = { ownerType: "COMPANY", ownerId: owner.ownerId } as const;
const settings: RepositorySettings = {
  type: "LOCAL",
  hasAnonymousAccess: false,
  isDeletePackageAllowed: false,
  packageReuploadType: "OVERRIDE",
};
const about = { repositoryId, name: "packages", packageType: "npm", description: "One" } as const;
const created: RegistryRepositoryEvent = {
  type: "RegistryRepositoryCreated",
  data: { ...owner, ...about, settings, createdById: by, createdAt: at },
};
const deleted: RegistryRepositoryEvent = {
  type: "RegistryRepositoryDeleted",
  data: { deletedById: by, deletedAt: at },
};
const create = { type: "CreateRegistryRepository", owner, ...about, settings, by, at } as const;
const change = { type: "ReconfigureRegistryRepository", owner, by, at } as const;
const remove = { type: "DeleteRegistryRepository", owner, isIncluded: false, by, at } as const;

describe("a repository of packages", () => {
  it("is created once", () => {
    given().when(create).gives(created);
    given(created).when(create).refuses("registry_repository.exists");
    given(created, deleted).when(create).refuses("registry_repository.exists");
  });

  it("keeps what a change leaves out", () => {
    const changed = { type: "LOCAL", packageReuploadType: "NONE" } as const;
    given(created)
      .when({ ...change, settings: changed })
      .gives({
        type: "RegistryRepositoryReconfigured",
        data: {
          description: "One",
          settings: { ...settings, packageReuploadType: "NONE" },
          previous: { description: "One", settings },
          reconfiguredById: by,
          reconfiguredAt: at,
        },
      });
  });

  it("keeps what an earlier change set", () => {
    const reconfigured: RegistryRepositoryEvent = {
      type: "RegistryRepositoryReconfigured",
      data: {
        description: "Two",
        settings: { ...settings, hasAnonymousAccess: true },
        previous: { description: "One", settings },
        reconfiguredById: by,
        reconfiguredAt: at,
      },
    };
    const { description, settings: now } = reconfigured.data;
    given(created, reconfigured)
      .when({ ...change, settings: { type: "LOCAL", packageReuploadType: "NONE" } })
      .gives({
        type: "RegistryRepositoryReconfigured",
        data: {
          ...reconfigured.data,
          settings: { ...now, packageReuploadType: "NONE" },
          previous: { description, settings: now },
        } as typeof reconfigured.data,
      });
  });

  it("forgets what a proxy logs in with when it goes to another server", () => {
    const [username, token] = ["user", "token"].map((text) => Sealed.parse(`sealed.a.${text}`));
    const [url, elsewhere] = ["https://one.example.org/npm", "https://two.example.org/npm"];
    const proxy: RepositorySettings = {
      ...{ type: "PROXY", url, username: username!, token: token!, isCaching: true },
      ...{ isOffline: false, expireHours: 0, metadataRetrievalIntervalSeconds: 0 },
    };
    const made = { ...created, data: { ...created.data, settings: proxy } } as typeof created;
    const expected = (changed: object): RegistryRepositoryEvent => ({
      type: "RegistryRepositoryReconfigured",
      data: {
        description: "One",
        settings: { ...proxy, ...changed },
        previous: { description: "One", settings: proxy },
        reconfiguredById: by,
        reconfiguredAt: at,
      },
    });
    const when = (changed: object) =>
      given(made).when({ ...change, settings: { type: "PROXY", ...changed } });
    const none = { username: null, token: null };
    when({ url: elsewhere }).gives(expected({ url: elsewhere, ...none }));
    const fresh = { url: elsewhere, token: username! };
    when(fresh).gives(expected({ ...none, ...fresh }));
    const path = { url: "https://one.example.org/other" };
    when(path).gives(expected(path));
  });

  it("never becomes another kind", () => {
    const changed = { type: "PROXY", isOffline: true } as const;
    given(created)
      .when({ ...change, settings: changed })
      .refuses("registry_repository.type_fixed");
  });

  it("is found by its own owner only", () => {
    const changed = { type: "LOCAL" } as const;
    for (const command of [{ ...change, settings: changed }, remove] as const) {
      given(created)
        .when({ ...command, owner: other })
        .refuses("registry_repository.not_found");
      given().when(command).refuses("registry_repository.not_found");
    }
  });

  it("is deleted once, and not while it is included", () => {
    given(created)
      .when({ ...remove, isIncluded: true })
      .refuses("registry_repository.included");
    given(created).when(remove).gives(deleted);
    given(created, deleted).when(remove).givesNothing();
  });
});
