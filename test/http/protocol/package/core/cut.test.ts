import { cutUploads } from "../../../../support/package/cut-upload.ts";
import { packageUploads } from "../../../../support/package/package-upload.ts";

// A body that is the file, and a form.
const { generic, pypi } = packageUploads("cut");
if (generic === undefined || pypi === undefined) throw new Error("a type is missing");
await cutUploads({ generic, pypi });
