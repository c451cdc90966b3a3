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

/** Lines of a shell; those below a comment with a path stand in that file. */
export type ClientLines = Readonly<{
  /** What a machine or a project needs once. */
  setUp: readonly string[];
  install: readonly string[];
  publish: readonly string[];
}>;

/** Debian: where the key is kept, and the source that it signs. */
const aptKey = "/etc/apt/keyrings/forge.asc";
const rpmKey = "/etc/pki/rpm-gpg/forge.asc";

const file = (address: string): string => `${address}NAME/VERSION/FILE`;
/** Clients add the slash themselves, and some of them a second one. */
const bare = (address: string): string => address.replace(/\/$/, "");

const plainFiles = ({ address, curl }: Address): ClientLines => ({
  setUp: [],
  install: [`${curl} -O ${file(address)}`],
  publish: [`${curl} -T FILE ${file(address)}`],
});

const languages = {
  npm: ({ address, withoutScheme }) => ({
    setUp: [`npm config set ${withoutScheme}:_authToken TOKEN`],
    install: [`npm install --registry ${address} NAME`],
    publish: [`npm publish --registry ${address}`],
  }),
  pypi: ({ address, withToken, isPlain, host }) => ({
    setUp: [],
    install: [
      `pip install --index-url ${withToken}simple/${isPlain ? ` --trusted-host ${host}` : ""} NAME`,
    ],
    publish: [`twine upload --repository-url ${address} -u token -p TOKEN dist/*`],
  }),
  maven: ({ title, address }) => ({
    setUp: [
      "<!-- ~/.m2/settings.xml -->",
      `<servers><server><id>${title}</id><username>token</username><password>TOKEN</password></server></servers>`,
    ],
    install: [
      "<!-- pom.xml -->",
      `<repositories><repository><id>${title}</id><url>${address}</url></repository></repositories>`,
      "<dependencies><dependency><groupId>GROUP</groupId><artifactId>NAME</artifactId><version>VERSION</version></dependency></dependencies>",
    ],
    // Version 2 of the plugin, which Maven 3 brings, reads no address without a layout.
    publish: [`mvn deploy -DaltDeploymentRepository=${title}::default::${address}`],
  }),
  cargo: ({ address }) => ({
    setUp: [
      "# .cargo/config.toml",
      "[registries.forge]",
      `index = "sparse+${address}index/"`,
      'credential-provider = "cargo:token"',
      "# shell",
      "cargo login --registry forge TOKEN",
    ],
    install: ["cargo add --registry forge NAME"],
    publish: ["cargo publish --registry forge"],
  }),
  nuget: ({ address, isPlain }) => {
    const insecure = isPlain ? " --allow-insecure-connections" : "";
    return {
      setUp: [
        `dotnet nuget add source ${address}index.json -n forge -u token -p TOKEN --store-password-in-clear-text${insecure}`,
      ],
      install: ["dotnet add package NAME --source forge"],
      publish: [`dotnet nuget push NAME.VERSION.nupkg --source forge --api-key TOKEN${insecure}`],
    };
  },
  composer: ({ address, host, isPlain, curl }) => ({
    setUp: [
      ...(isPlain ? ["composer config secure-http false"] : []),
      `composer config repositories.forge composer ${address}`,
      `composer config http-basic.${host} token TOKEN`,
    ],
    install: ["composer require VENDOR/NAME"],
    publish: [`${curl} -X PUT --data-binary @NAME.zip "${address}?version=VERSION"`],
  }),
  rubygem: ({ address, withToken }) => ({
    setUp: [],
    install: [`gem install NAME --source ${withToken}`],
    publish: [`GEM_HOST_API_KEY=TOKEN gem push NAME-VERSION.gem --host ${bare(address)}`],
  }),
  go: ({ address, withToken, isPlain, curl }) => ({
    // It refuses an address with credentials and without TLS.
    setUp: isPlain
      ? [
          "# Over plain HTTP go sends no token: the repository has to let anonymous readers in.",
          `export GOPROXY=${address} GONOSUMDB='*'`,
        ]
      : [`export GOPROXY=${withToken} GONOSUMDB='*'`],
    install: ["go get MODULE@VERSION"],
    publish: [`${curl} -T FILE.zip ${address}upload`],
  }),
  cran: ({ address, withToken, curl }) => ({
    setUp: [],
    install: [`Rscript -e 'install.packages("NAME", repos = "${bare(withToken)}")'`],
    publish: [`${curl} -T NAME_VERSION.tar.gz ${address}src/contrib/NAME_VERSION.tar.gz`],
  }),
  conda: ({ address, withToken, curl }) => ({
    setUp: [],
    install: [`conda install --channel ${bare(withToken)} NAME`],
    publish: [`${curl} -T FILE.conda ${address}PLATFORM/FILE.conda`],
  }),
  conan: ({ address }) => ({
    setUp: [`conan remote add forge ${bare(address)}`, "conan remote login forge token -p TOKEN"],
    install: ["conan install --requires=NAME/VERSION --remote forge"],
    publish: ["conan upload NAME/VERSION --remote forge --confirm"],
  }),
} as const satisfies Partial<Record<PackageType, (named: Address) => ClientLines>>;

const systems = {
  container: ({ images }) => ({
    setUp: [`docker login ${images.split("/")[0]} -u ALIAS -p TOKEN`],
    install: [`docker pull ${images}/IMAGE:TAG`],
    publish: [`docker push ${images}/IMAGE:TAG`],
  }),
  helm: ({ address, curl }) => ({
    setUp: [`helm repo add forge ${address} --username token --password TOKEN`],
    install: ["helm install RELEASE forge/NAME"],
    publish: [`${curl} --data-binary @NAME-VERSION.tgz ${address}api/charts`],
  }),
  debian: ({ address, withToken, curl }) => ({
    setUp: [
      `${curl} --create-dirs -o ${aptKey} ${address}repository.key`,
      `echo "deb [signed-by=${aptKey}] ${withToken} DISTRIBUTION COMPONENT" > /etc/apt/sources.list.d/forge.list`,
    ],
    install: ["apt-get update && apt-get install NAME"],
    publish: [`${curl} -T FILE.deb ${address}pool/DISTRIBUTION/COMPONENT/upload`],
  }),
  rpm: ({ address, curl }) => ({
    setUp: [
      `${curl} --create-dirs -o ${rpmKey} ${address}repository.key`,
      "# /etc/yum.repos.d/forge.repo",
      ...["[forge]", "name=forge", `baseurl=${address}`, "username=token", "password=TOKEN"],
      ...["gpgcheck=0", "repo_gpgcheck=1", `gpgkey=file://${rpmKey}`],
    ],
    install: ["dnf install NAME"],
    publish: [`${curl} -T FILE.rpm ${address}upload`],
  }),
  generic: plainFiles,
  opm: plainFiles,
} as const satisfies Partial<Record<PackageType, (named: Address) => ClientLines>>;

const clients: Readonly<Record<PackageType, (named: Address) => ClientLines>> = {
  ...languages,
  ...systems,
};

/** The lines that set up a client of the type, install a package and publish one. */
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
