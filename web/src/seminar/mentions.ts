// The files of the project on this device for `@file` in a message to the tutor, under the path by which its agent reads them. Only the name
// goes into the message; what the agent then reads is shown and recorded like everything that leaves the device.

import { offerMentions } from "../state/mentions";

const MOUNT = "/project";

offerMentions(async ({ graphId }) => {
  if (graphId !== "deeptutor") return [];
  const [{ currentProject }, { openFiles }] = await Promise.all([
    import("../device/projects"),
    import("../device/files"),
  ]);
  const project = await currentProject();
  const rows = project ? await (await openFiles(project.id)).list() : [];
  return rows.map((row) => ({ path: `${MOUNT}${row.path}`, from: project!.name }));
});
