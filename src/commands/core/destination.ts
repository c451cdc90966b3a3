/**
 * Whether a stored secret would go where it went before: all these fields are as they were. A person who cannot read
 * a secret must not have it sent elsewhere: after any other change it is dropped, or required anew.
 */
export function sameDestination<Fields extends object>(
  before: Fields,
  after: Fields,
  fields: readonly (keyof Fields)[],
): boolean {
  return fields.every((field) => before[field] === after[field]);
}
