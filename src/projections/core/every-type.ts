/** Event types of a projection that keeps account of the whole log, whatever later versions add. */
class EveryType extends Set<string> {
  override has(): boolean {
    return true;
  }
}

export const everyType: ReadonlySet<string> = new EveryType();
