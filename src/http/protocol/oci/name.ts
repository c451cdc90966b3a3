import { Alias } from "../../../events/core/ids.ts";
import type { NativeName } from "../package/core/access.ts";
import { containerRefusal } from "./error.ts";

/** OCI distribution-spec, "Pulling manifests"; a part of a name. Each of its matches is found in one way. */
const part = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*";
const name = new RegExp(`^${part}(?:/${part})+$`);
const lengthMax = 255;

/** Whether it has the form of a name; there may be no such image. */
export const isImageName = (full: string): boolean => full.length <= lengthMax && name.test(full);

export type ImageName = Readonly<{
  /** As the client writes it: with the repository in front. */
  full: string;
  /** Where its repository is. */
  native: NativeName;
  /** Within the repository. */
  image: string;
}>;

const forms = [
  /^(?<scope>company)\/(?<companyAlias>[^/]+)\/(?<repository>[^/]+)\/(?<image>.+)$/,
  /^(?<scope>instance)\/(?<repository>[^/]+)\/(?<image>.+)$/,
  /^(?<ownerAlias>[^/]+)\/(?<projectAlias>[^/]+)\/(?<repository>[^/]+)\/(?<image>.+)$/,
];

/**
 * `{owner}/{project}/{repository}/{image}`, `company/{company}/{repository}/{image}` or
 * `instance/{repository}/{image}`; the image may have slashes of its own.
 *
 * @throws HttpRefusal 400 `NAME_INVALID`, 404 `NAME_UNKNOWN`
 */
export function readImageName(full: string): ImageName {
  if (!isImageName(full)) {
    const message = "A name is lower case letters and digits, parted by . _ - and slashes.";
    throw containerRefusal(400, "NAME_INVALID", message);
  }
  for (const form of forms) {
    const groups = form.exec(full)?.groups;
    if (groups === undefined) continue;
    const { scope = "project", repository = "", image = "", ...params } = groups;
    if (!Object.values(params).every((alias) => Alias.safeParse(alias).success)) break;
    return { full, image, native: { scope: scope as NativeName["scope"], params, repository } };
  }
  throw unknownName();
}

export function unknownName() {
  const message = "There is no such image. Its name is {owner}/{project}/{repository}/{image}.";
  return containerRefusal(404, "NAME_UNKNOWN", message);
}
