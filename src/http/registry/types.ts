import { cargoType } from "./type/cargo.ts";
import { composerType } from "./type/composer.ts";
import { conanType } from "./type/conan.ts";
import { condaType } from "./type/conda.ts";
import { cranType } from "./type/cran.ts";
import { debianType } from "./type/debian.ts";
import { genericType, opmType } from "./type/generic.ts";
import { goType } from "./type/go.ts";
import { helmType } from "./type/helm.ts";
import { mavenType } from "./type/maven.ts";
import { npmType } from "./type/npm.ts";
import { nugetType } from "./type/nuget.ts";
import { pypiType } from "./type/pypi.ts";
import { rpmType } from "./type/rpm.ts";
import { rubygemType } from "./type/rubygem.ts";
import type { RegistryType } from "./type.ts";

/** Every ecosystem whose protocol is served, by the type of its repositories. */
export const registryTypes: ReadonlyMap<string, RegistryType> = new Map(
  [
    ...[cargoType, composerType, conanType, condaType, cranType, debianType, genericType],
    ...[goType, helmType, mavenType, npmType, nugetType, opmType, pypiType, rpmType, rubygemType],
  ].map((type) => [type.packageType, type]),
);
