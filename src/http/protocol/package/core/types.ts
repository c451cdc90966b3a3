import { cargoType } from "../cargo/routes.ts";
import { composerType } from "../composer/routes.ts";
import { conanType } from "../conan/routes.ts";
import { condaType } from "../conda/routes.ts";
import { cranType } from "../cran/routes.ts";
import { debianType } from "../debian/routes.ts";
import { genericType, opmType } from "../generic/routes.ts";
import { goType } from "../go/routes.ts";
import { helmType } from "../helm/routes.ts";
import { mavenType } from "../maven/routes.ts";
import { npmType } from "../npm/routes.ts";
import { nugetType } from "../nuget/routes.ts";
import { pypiType } from "../pypi/routes.ts";
import { rpmType } from "../rpm/routes.ts";
import { rubygemType } from "../rubygem/routes.ts";
import type { RegistryType } from "./type.ts";

/** Every ecosystem whose protocol is served, by the type of its repositories. */
export const registryTypes: ReadonlyMap<string, RegistryType> = new Map(
  [
    ...[cargoType, composerType, conanType, condaType, cranType, debianType, genericType],
    ...[goType, helmType, mavenType, npmType, nugetType, opmType, pypiType, rpmType, rubygemType],
  ].map((type) => [type.packageType, type]),
);
