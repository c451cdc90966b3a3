import { OwnerType } from "../../../events/project/project.ts";
import { ProjectView } from "../../api/project/view.ts";
import { projectPath } from "../common/address.ts";
import { formPages } from "../common/form-page.ts";
import { inProject } from "../common/frame.ts";
import { besides } from "../common/project-page.ts";
import { boxes, lineField, type Sheet, selectField, sheetNotice, textOf } from "../common/sheet.ts";
import { baseOf } from "../common/text.ts";
import { html } from "../core/html.ts";
import { formStart } from "../core/once.ts";
import { type PageRoute, page } from "../core/route.ts";

const at = "/project/{ownerAlias}/{projectAlias}/fork";
const fields = ["ownerAlias", "ownerAliasType", "alias", "title", "isPrivate"];

/** The address that answers of projects name. */
const showFork = page({
  ...besides,
  path: at,
  operationId: "showForkOfProject",
  handle: async ({ params }) => ({ redirect: `/page${projectPath(params)}/fork` }),
});

const fork = formPages({
  path: at,
  operationIds: ["showNewFork", "forkProjectByPage"],
  async show({ params, sheet, visit }, deps) {
    const { project, names, lead } = await inProject(visit.operations, params);
    const base = baseOf(deps);
    const isPrivate = project.private ? ["true"] : [];
    const typed = {
      ...{ ownerAlias: [visit.session.alias], alias: [project.alias], title: [project.title] },
      ...(sheet.failure === undefined && { isPrivate }),
      ...sheet.typed,
    };
    const filled: Sheet = { ...sheet, typed };
    const owners = OwnerType.options.map((value) => ({ value, words: value.toLowerCase() }));
    const isHidden = { name: "isPrivate", label: "Seen by" };
    const options = [{ value: "true", words: "Members only (private)" }];
    return {
      title: "Fork this project",
      wide: true,
      lead: lead(),
      body: () => html`<section>${sheetNotice(filled, fields)}
<p>A copy of your own, with all branches and tags. Merge requests lead back from it.</p>
<form method="post" action="${base}${visit.here.split("?", 1)[0]}">${formStart(visit)}
${lineField(filled, { name: "ownerAlias", label: "Owner", required: true })}
${selectField(filled, { name: "ownerAliasType", label: "The owner is a", options: owners })}
${lineField(filled, { name: "alias", label: "Alias", required: true })}
${lineField(filled, { name: "title", label: "Title", required: true })}
${boxes(filled, { ...isHidden, options })}
<p class="actions"><button>Fork</button> <a href="${base}${projectPath(names)}">Cancel</a></p></form></section>`,
    };
  },
  async send({ params, typed, visit }) {
    const text = (name: string) => textOf({ typed }, name);
    const body = {
      ...{ ownerAlias: text("ownerAlias"), ownerAliasType: text("ownerAliasType") },
      ...{ alias: text("alias"), title: text("title"), isPrivate: text("isPrivate") === "true" },
    };
    const { owner, alias } = await visit.operations.one("forkProject", ProjectView, {
      params,
      body,
    });
    return projectPath({ ownerAlias: owner.alias, projectAlias: alias });
  },
});

export const forkPages: readonly PageRoute[] = [...fork, showFork];
