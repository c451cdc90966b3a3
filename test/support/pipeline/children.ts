import { startTestApp } from "../app/app.ts";
import { eventually as within } from "../app/eventually.ts";
import { startReceiver } from "../client/receiver.ts";

export const file = ".forge-ci.yaml";

/** Several workers have their turns one after another. */
export const eventually = <Value>(condition: () => Value | Promise<Value>) =>
  within(condition, 90_000);

export const parent = `
child: {trigger: {include: child.yml, strategy: depend}, variables: {FROM: parent}}
after: {stage: deploy, script: x}
`;

export const child =
  'inner: {script: x, rules: [{if: \'$FROM == "parent" && $CI_PIPELINE_SOURCE == "parent_pipeline"\'}]}';

export async function givenChildren() {
  const app = await startTestApp({ workers: true });
  const receiver = await startReceiver();
  const anna = await app.givenUser("anna");
  return {
    ...{ app, receiver, anna },
  };
}
