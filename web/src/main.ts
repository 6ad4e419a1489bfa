import { mount } from "svelte";
import App from "./App.svelte";
import { glance } from "./project/glance.svelte";
import { keepShell } from "./offline/register";
import "./styles/tokens.css";
import "./styles/base.css";

mount(App, { target: document.getElementById("app")! });
keepShell();
// A device that cannot be opened is said where somebody asks for it: in the dialogs.
glance.start().catch((error: unknown) => console.warn("What this device keeps cannot be looked at yet:", error));
