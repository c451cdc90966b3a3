/** Names of the first form of a resource; a client looks for the one that it knows. */
const aliases = (name: string) => [name, `${name}/3.0.0-beta`, `${name}/3.0.0-rc`];

/**
 * The addresses of the resources of a repository, for clients: learn.microsoft.com/nuget/api/service-index. A proxy is
 * not written to.
 *
 * @param base URL of the repository, without a slash at its end
 */
export function serviceIndex(base: string, kind: "own" | "proxy") {
  const resource = (path: string, ...types: readonly string[]) =>
    types.map((each) => ({ "@id": `${base}/${path}`, "@type": each }));
  const registrations = [
    ...resource("registration/", ...aliases("RegistrationsBaseUrl")),
    ...resource("registration-gz/", "RegistrationsBaseUrl/3.4.0"),
    ...resource(
      "registration-semver2/",
      "RegistrationsBaseUrl/3.6.0",
      "RegistrationsBaseUrl/Versioned",
    ),
  ];
  const searches = [
    ...resource("query", ...aliases("SearchQueryService"), "SearchQueryService/3.5.0"),
    ...resource(
      "autocomplete",
      ...aliases("SearchAutocompleteService"),
      "SearchAutocompleteService/3.5.0",
    ),
  ];
  const publishing = [
    ...resource("package", "PackagePublish/2.0.0"),
    ...resource("symbolpackage", "SymbolPackagePublish/4.9.0"),
  ];
  const flat = resource("flat/", "PackageBaseAddress/3.0.0");
  return {
    version: "3.0.0",
    resources: [...flat, ...registrations, ...searches, ...(kind === "own" ? publishing : [])],
  };
}
