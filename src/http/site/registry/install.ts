export type Named = Readonly<{
  type: string;
  title: string;
  /** Base of the native protocol, with a slash at the end. */
  address: string;
  /** Host and path before the name of an image. */
  images: string;
}>;

type Address = Named & Readonly<{ withToken: string; withoutScheme: string }>;

/** By type of packages. */
const clients: Readonly<Record<string, (named: Address) => readonly string[]>> = {
  npm: ({ address, withoutScheme }) => [
    `npm config set ${withoutScheme}:_authToken TOKEN`,
    `npm install --registry ${address} NAME`,
    `npm publish --registry ${address}`,
  ],
  pypi: ({ address, withToken }) => [
    `pip install --index-url ${withToken}simple/ NAME`,
    `twine upload --repository-url ${address} -u token -p TOKEN dist/*`,
  ],
  maven: ({ title, address }) => [
    "<repository>",
    `  <id>${title}</id>`,
    `  <url>${address}</url>`,
    "</repository>",
    `<server><id>${title}</id><username>token</username><password>TOKEN</password></server>`,
  ],
  container: ({ images }) => [
    `docker login ${images.split("/")[0]} -u NAME -p TOKEN`,
    `docker pull ${images}/IMAGE:TAG`,
    `docker push ${images}/IMAGE:TAG`,
  ],
  cargo: ({ address }) => [
    "[registries.forge]",
    `index = "sparse+${address}index/"`,
    "cargo login --registry forge TOKEN",
    "cargo add --registry forge NAME",
  ],
  nuget: ({ address }) => [
    `dotnet nuget add source ${address}index.json -n forge -u token -p TOKEN`,
    "dotnet add package NAME --source forge",
    `dotnet nuget push NAME.nupkg --source ${address}index.json --api-key TOKEN`,
  ],
  composer: ({ address }) => [
    `composer config repositories.forge composer ${address}`,
    `composer config http-basic.${new URL(address).host} token TOKEN`,
    "composer require VENDOR/NAME",
  ],
  helm: ({ address }) => [
    `helm repo add forge ${address} --username token --password TOKEN`,
    "helm install RELEASE forge/NAME",
  ],
  go: ({ withToken }) => [`export GOPROXY=${withToken} GONOSUMDB=*`, "go get MODULE@VERSION"],
  debian: ({ address, withToken }) => [
    `curl -u token:TOKEN -o /etc/apt/keyrings/forge.asc ${address}repository.key`,
    `echo "deb [signed-by=/etc/apt/keyrings/forge.asc] ${withToken} DISTRIBUTION COMPONENT" > /etc/apt/sources.list.d/forge.list`,
    "apt-get update && apt-get install NAME",
  ],
  rubygem: ({ address, withToken }) => [
    `gem install NAME --source ${withToken}`,
    `gem push NAME.gem --host ${address}`,
  ],
  generic: ({ address }) => [
    `curl -H "Authorization: Bearer TOKEN" -O ${address}NAME/VERSION/FILE`,
    `curl -H "Authorization: Bearer TOKEN" -T FILE ${address}NAME/VERSION/FILE`,
  ],
};

/** The lines that a client of the type is set up with; none where there is no client of its own. */
export function installLines(named: Named): readonly string[] {
  const type = named.type === "opm" ? "generic" : named.type;
  const withoutScheme = named.address.replace(/^\w+:/, "");
  const withToken = named.address.replace("://", "://token:TOKEN@");
  const lines = Object.hasOwn(clients, type) ? clients[type] : undefined;
  return lines?.({ ...named, withToken, withoutScheme }) ?? [];
}
