import { z } from "zod";

import { nameLengthMax, oneLine } from "../../core/schema.ts";

/** Of teams, companies and projects, as are the others. */
export const Title = oneLine(255);
export const Description = z.string().max(10_000);
/** Of a picture elsewhere. */
export const Link = z.union([z.literal(""), z.url({ protocol: /^https?$/ }).max(2_000)]);

export const OwnerAlias = z
  .string()
  .max(nameLengthMax)
  .nullish()
  .meta({ description: "The caller when not given." });

/** Fields of a request as the events name them; only those given. */
export function changed(body: {
  title?: string | undefined;
  description?: string | null | undefined;
  isPrivate?: boolean | undefined;
  avatar?: string | null | undefined;
}) {
  const { title, description, isPrivate, avatar } = body;
  return {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description: description || null }),
    ...(isPrivate === undefined ? {} : { private: isPrivate }),
    ...(avatar === undefined ? {} : { avatar: avatar || null }),
  };
}
