// Which dialogs are open, by name. Any part of the page opens one (`openDialog("wallet")`); what each name shows is known to the shell.

class OpenDialogs {
  private readonly shown = $state<Record<string, boolean>>({});

  isOpen(id: string): boolean {
    return this.shown[id] ?? false;
  }

  set(id: string, open: boolean): void {
    this.shown[id] = open;
  }
}

export const openDialogs = new OpenDialogs();

export const openDialog = (id: string): void => openDialogs.set(id, true);
