// What the sidebar says beside "Project", and what is done once at the start of a visit, as soon as it is known whose it is. Nothing is
// opened for a person who keeps nothing.

class ProjectStatus {
  words = $state("");
  private isListening = false;

  async start(): Promise<void> {
    if (typeof indexedDB === "undefined" || !indexedDB.databases) return;
    const { onChange } = await import("../device/changes");
    if (!this.isListening) for (const topic of ["projects", "files"]) onChange(topic, () => void this.look());
    this.isListening = true;
    const known = await indexedDB.databases().catch(() => []);
    if (!known.some(({ name }) => name?.startsWith("stepwell"))) return;
    await this.look();
    const { order } = await import("./worker-client");
    await order("sweep", {});
  }

  private async look(): Promise<void> {
    const [{ currentProject }, { openDevice }] = await Promise.all([
      import("../device/projects"),
      import("../device/database"),
    ]);
    const project = await currentProject();
    const count = project
      ? await (await openDevice()).read("files", (stores) => stores.files.countBy("project", project.id))
      : 0;
    this.words = project ? `${count.toLocaleString("en")} ${count === 1 ? "file" : "files"}` : "";
  }
}

export const projectStatus = new ProjectStatus();
