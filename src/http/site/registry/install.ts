export type Named = Readonly<{
  type: string;
  title: string;
  /** Base of the native protocol, with a slash at the end. */
  address: string;
  /** Host and path before the name of an image. */
  images: string;
}>;

/** The lines that a client of the type is set up with; none where there is no client of its own. */
export function installLines({ type, title, address, images }: Named): readonly string[] {
  const withoutScheme = address.replace(/^\w+:/, "");
  const withToken = address.replace("://", "://token:TOKEN@");
  switch (type) {
    case "npm":
      return [
        `npm config set ${withoutScheme}:_authToken TOKEN`,
        `npm install --registry ${address} NAME`,
        `npm publish --registry ${address}`,
      ];
    case "pypi":
      return [
        `pip install --index-url ${withToken}simple/ NAME`,
        `twine upload --repository-url ${address} -u token -p TOKEN dist/*`,
      ];
    case "maven":
      return [
        "<repository>",
        `  <id>${title}</id>`,
        `  <url>${address}</url>`,
        "</repository>",
        `<server><id>${title}</id><username>token</username><password>TOKEN</password></server>`,
      ];
    case "container":
      return [
        `docker login ${images.split("/")[0]} -u NAME -p TOKEN`,
        `docker pull ${images}/IMAGE:TAG`,
        `docker push ${images}/IMAGE:TAG`,
      ];
    case "cargo":
      return [
        "[registries.forge]",
        `index = "sparse+${address}index/"`,
        "cargo login --registry forge TOKEN",
        "cargo add --registry forge NAME",
      ];
    case "nuget":
      return [
        `dotnet nuget add source ${address}index.json -n forge -u token -p TOKEN`,
        "dotnet add package NAME --source forge",
        `dotnet nuget push NAME.nupkg --source ${address}index.json --api-key TOKEN`,
      ];
    case "composer":
      return [
        `composer config repositories.forge composer ${address}`,
        `composer config http-basic.${new URL(address).host} token TOKEN`,
        "composer require VENDOR/NAME",
      ];
    case "helm":
      return [
        `helm repo add forge ${address} --username token --password TOKEN`,
        "helm install RELEASE forge/NAME",
      ];
    case "go":
      return [`export GOPROXY=${withToken} GONOSUMDB=*`, "go get MODULE@VERSION"];
    case "debian":
      return [
        `curl -u token:TOKEN -o /etc/apt/keyrings/forge.asc ${address}repository.key`,
        `echo "deb [signed-by=/etc/apt/keyrings/forge.asc] ${withToken} DISTRIBUTION COMPONENT" > /etc/apt/sources.list.d/forge.list`,
        "apt-get update && apt-get install NAME",
      ];
    case "rubygem":
      return [`gem install NAME --source ${withToken}`, `gem push NAME.gem --host ${address}`];
    case "generic":
    case "opm":
      return [
        `curl -H "Authorization: Bearer TOKEN" -O ${address}NAME/VERSION/FILE`,
        `curl -H "Authorization: Bearer TOKEN" -T FILE ${address}NAME/VERSION/FILE`,
      ];
    default:
      return [];
  }
}
