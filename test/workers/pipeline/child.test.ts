import { expect } from "chai";
import { pipelinesOf } from "../../support/agent/pipeline-app.ts";
import { child, eventually, file, givenChildren, parent } from "../../support/pipeline/children.ts";

const { app, receiver, anna } = await givenChildren();

const bob = await app.givenUser("bob");

describe("a job that starts a pipeline", () => {
  it("ends as that pipeline does", async () => {
    const ci = pipelinesOf(app, anna, await app.givenProject(anna, "depend"));
    await ci.commit({ [file]: parent, "child.yml": child }, "Add [skip ci]");
    const { localId } = await ci.start();
    await eventually(async () => {
      const [child] = await ci.pipelines("?status=PENDING");
      return expect(child).to.include({ source: "PARENT_PIPELINE" });
    });
    const begun = { child: "RUNNING", after: "CREATED" };
    await eventually(async () => expect(await ci.statuses(localId)).to.deep.equal(begun));
    expect(await ci.run()).to.equal("inner");
    await eventually(async () =>
      expect(await ci.statuses(localId)).to.include({ child: "SUCCESS" }),
    );
    expect(await ci.run()).to.equal("after");
    await eventually(async () =>
      expect(await ci.pipeline(localId)).to.include({ status: "SUCCESS" }),
    );
  });

  it("fails when nothing can be started", async () => {
    const ci = pipelinesOf(app, anna, await app.givenProject(anna, "broken"));
    await ci.commit(
      { [file]: "a: {trigger: {include: gone.yml, strategy: depend}}" },
      "Add [skip ci]",
    );
    const { localId } = await ci.start();
    await eventually(async () =>
      expect(await ci.pipeline(localId)).to.include({ status: "FAILED" }),
    );
  });

  it("starts one of another project only for its developers", async () => {
    const foreign = await app.givenProject(bob, "foreign", { private: false });
    const theirs = pipelinesOf(app, bob, foreign);
    await theirs.commit({ [file]: "x: {script: x}" }, "Add [skip ci]");
    const ci = pipelinesOf(app, anna, await app.givenProject(anna, "upstream"));
    await ci.commit({ [file]: "a: {trigger: {project: bob/foreign}}" }, "Add [skip ci]");
    const { localId } = await ci.start();
    await eventually(async () =>
      expect(await ci.pipeline(localId)).to.include({ status: "FAILED" }),
    );
    expect(await theirs.pipelines()).to.have.length(0);
  });
});

describe("webhooks of pipelines", () => {
  it("are notified of one with an invalid file as failed", async () => {
    receiver.reset();
    const ci = pipelinesOf(app, anna, await app.givenProject(anna, "wrong"));
    const body = { url: receiver.url, events: { PIPELINE_FAIL: true } };
    await app.post(`${ci.base}/setting/webhook`, { token: ci.token, body });
    await ci.commit({ [file]: "a: []" });
    await eventually(() => expect(receiver.received).to.have.length(1));
    const { action, pipeline } = JSON.parse(receiver.received[0]!.body);
    expect([action, pipeline.status]).to.deep.equal(["PIPELINE_FAIL", "FAILED"]);
    expect(pipeline.failure_reason).to.contain("a: It is no keyword");
  });
});
