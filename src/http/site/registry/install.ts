import type { PackageType } from "../../../events/package/version.ts";

export type Named = Readonly<{
  type: PackageType;
  title: string;
  /** Base of the native protocol, with a slash at the end. */
  address: string;
  /** Host and path before the name of an image. */
  images: string;
}>;

type Address = Named &
  Readonly<{
    withToken: string;
    withoutScheme: string;
    host: string;
    isPlain: boolean;
    /** A client that has no login of its own for a repository. */
    curl: string;
  }>;

/** Lines of a shell or a file of settings. */
export type ClientLines = Readonly<{ install: readonly string[]; publish: readonly string[] }>;

/** Debian: where the key is kept, and the source that it signs. */
const aptKey = "/etc/apt/keyrings/forge.asc";
const rpmKey = "/etc/pki/rpm-gpg/forge.asc";

const file = (address: string): string => `${address}NAME/VERSION/FILE`;

const plainFiles = ({ address, curl }: Address): ClientLines => ({
  install: [`${curl} -O ${file(address)}`],
  publish: [`${curl} -T FILE ${file(address)}`],
});

const languages = {
  npm: ({ address, withoutScheme }) => ({
    install: [
      `npm config set ${withoutScheme}:_authToken TOKEN`,
      `npm install --registry ${address} NAME`,
    ],
    publish: [`npm publish --registry ${address}`],
  }),
  pypi: ({ address, withToken, isPlain, host }) => ({
    install: [
      `pip install --index-url ${withToken}simple/${isPlain ? ` --trusted-host ${host}` : ""} NAME`,
    ],
    publish: [`twine upload --repository-url ${address} -u token -p TOKEN dist/*`],
  }),
  maven: ({ title, address }) => ({
    install: [
      "<!-- pom.xml -->",
      `<repositories><repository><id>${title}</id><url>${address}</url></repository></repositories>`,
      "<!-- ~/.m2/settings.xml -->",
      `<servers><server><id>${title}</id><username>token</username><password>TOKEN</password></server></servers>`,
    ],
    publish: [`mvn deploy -DaltDeploymentRepository=${title}::${address}`],
  }),
  cargo: ({ address }) => ({
    install: [
      "# .cargo/config.toml",
      "[registries.forge]",
      `index = "sparse+${address}index/"`,
      'credential-provider = "cargo:token"',
      "# shell",
      "cargo login --registry forge TOKEN",
      "cargo add --registry forge NAME",
    ],
    publish: ["cargo publish --registry forge"],
  }),
  nuget: ({ address, isPlain }) => {
    const insecure = isPlain ? " --allow-insecure-connections" : "";
    return {
      install: [
        `dotnet nuget add source ${address}index.json -n forge -u token -p TOKEN --store-password-in-clear-text${insecure}`,
        "dotnet add package NAME --source forge",
      ],
      publish: [
        `dotnet nuget push NAME.nupkg --source ${address}index.json --api-key TOKEN${insecure}`,
      ],
    };
  },
  composer: ({ address, host, isPlain, curl }) => ({
    install: [
      ...(isPlain ? ["composer config secure-http false"] : []),
      `composer config repositories.forge composer ${address}`,
      `composer config http-basic.${host} token TOKEN`,
      "composer require VENDOR/NAME",
    ],
    publish: [`${curl} -X PUT --data-binary @NAME.zip "${address}?version=VERSION"`],
  }),
  rubygem: ({ address, withToken }) => ({
    install: [`gem install NAME --source ${withToken}`],
    publish: [`GEM_HOST_API_KEY=TOKEN gem push NAME.gem --host ${address.replace(/\/$/, "")}`],
  }),
  go: ({ address, withToken, curl }) => ({
    install: [`export GOPROXY=${withToken} GONOSUMDB='*'`, "go get MODULE@VERSION"],
    publish: [`${curl} -T MODULE.zip ${address}upload`],
  }),
  cran: ({ address, withToken, curl }) => ({
    install: [`install.packages("NAME", repos = "${withToken.replace(/\/$/, "")}")`],
    publish: [`${curl} -T NAME_VERSION.tar.gz ${address}src/contrib/NAME_VERSION.tar.gz`],
  }),
  conda: ({ address, withToken, curl }) => ({
    install: [`conda install --channel ${withToken.replace(/\/$/, "")} NAME`],
    publish: [`${curl} -T FILE.conda ${address}PLATFORM/FILE.conda`],
  }),
  conan: ({ address }) => ({
    install: [
      `conan remote add forge ${address}`,
      "conan remote login forge token -p TOKEN",
      "conan install --requires=NAME/VERSION --remote forge",
    ],
    publish: ["conan upload NAME/VERSION --remote forge --confirm"],
  }),
} as const satisfies Partial<Record<PackageType, (named: Address) => ClientLines>>;

const systems = {
  container: ({ images }) => ({
    install: [
      `docker login ${images.split("/")[0]} -u ALIAS -p TOKEN`,
      `docker pull ${images}/IMAGE:TAG`,
    ],
    publish: [`docker push ${images}/IMAGE:TAG`],
  }),
  helm: ({ address, curl }) => ({
    install: [
      `helm repo add forge ${address} --username token --password TOKEN`,
      "helm install RELEASE forge/NAME",
    ],
    publish: [`${curl} --data-binary @NAME-VERSION.tgz ${address}api/charts`],
  }),
  debian: ({ address, withToken, curl }) => ({
    install: [
      `${curl} -o ${aptKey} ${address}repository.key`,
      `echo "deb [signed-by=${aptKey}] ${withToken} DISTRIBUTION COMPONENT" > /etc/apt/sources.list.d/forge.list`,
      "apt-get update && apt-get install NAME",
    ],
    publish: [`${curl} -T NAME.deb ${address}pool/DISTRIBUTION/COMPONENT/upload`],
  }),
  rpm: ({ address, curl }) => ({
    install: [
      `${curl} -o ${rpmKey} ${address}repository.key`,
      "# /etc/yum.repos.d/forge.repo",
      ...["[forge]", "name=forge", `baseurl=${address}`, "username=token", "password=TOKEN"],
      ...["gpgcheck=0", "repo_gpgcheck=1", `gpgkey=file://${rpmKey}`],
      "# shell",
      "dnf install NAME",
    ],
    publish: [`${curl} -T NAME.rpm ${address}upload`],
  }),
  generic: plainFiles,
  opm: plainFiles,
} as const satisfies Partial<Record<PackageType, (named: Address) => ClientLines>>;

const clients: Readonly<Record<PackageType, (named: Address) => ClientLines>> = {
  ...languages,
  ...systems,
};

/** The lines that a client of the type is set up with, and those that publish. */
export function clientLines(named: Named): ClientLines {
  const { type, address } = named;
  const { host, protocol } = new URL(address);
  return clients[type]({
    ...named,
    withoutScheme: address.replace(/^\w+:/, ""),
    withToken: address.replace("://", "://token:TOKEN@"),
    host,
    isPlain: protocol === "http:",
    curl: "curl --fail -u token:TOKEN",
  });
}
