import { company } from "../../../src/commands/team/company.ts";
import type { EventOf } from "../../../src/events/core/event.ts";
import { Alias, CompanyId, UserId } from "../../../src/events/core/ids.ts";
import { Sealed } from "../../../src/events/core/sealed.ts";
import type { companyEvents } from "../../../src/events/team/company.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

type CompanyEvent = EventOf<typeof companyEvents>;

const given = specify(company);
const by = UserId.parse("0b9f2d3a-6f0e-4c35-8a9e-0d1f2a3b4c5d");
const companyId = CompanyId.parse("c0ffee00-1111-4222-8333-444455556666");
const alias = Alias.parse("acme");

const details = {
  title: "Acme",
  description: null,
  private: true,
  avatar: null,
  url: null,
  contactPhone: null,
  contactEmail: null,
};
const created: CompanyEvent = {
  type: "CompanyCreated",
  data: { companyId, ownerId: by, alias, details, createdAt: at },
};
const deleted: CompanyEvent = {
  type: "CompanyDeleted",
  data: { deletedById: by, deletedAt: at },
};

describe("a company", () => {
  const create = { type: "CreateCompany", companyId, ownerId: by, alias, details, at } as const;

  it("is created once", () => {
    given().when(create).gives(created);
    given(created).when(create).refuses("company.exists");
  });

  it("is deleted once", () => {
    const remove = { type: "DeleteAliasHolder", by, at } as const;
    given(created).when(remove).gives(deleted);
    given(created, deleted).when(remove).givesNothing();
    given().when(remove).refuses("company.not_found");
  });

  it("keeps its details before and after a change", () => {
    const contactPhone = Sealed.parse(`sealed.company-${companyId}.AAAA`);
    const changing = {
      type: "ChangeDetails",
      details: { contactPhone, url: "https://acme.example" },
      by,
      at,
    } as const;
    const after = { ...details, ...changing.details };
    const changed: CompanyEvent = {
      type: "CompanyDetailsChanged",
      data: { details: after, previous: details, changedById: by, changedAt: at },
    };
    given(created).when(changing).gives(changed);
    given(created, changed).when(changing).givesNothing();
    given(created, deleted).when(changing).refuses("company.not_found");
  });

  it("keeps its alias before and after a change", () => {
    const next = Alias.parse("acme-2");
    const changing = { type: "ChangeAlias", alias: next, by, at } as const;
    const changed: CompanyEvent = {
      type: "CompanyAliasChanged",
      data: { alias: next, previousAlias: alias, changedById: by, changedAt: at },
    };
    given(created).when(changing).gives(changed);
    given(created, changed).when(changing).givesNothing();
  });
});
