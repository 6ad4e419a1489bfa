import { mount } from "svelte";
import App from "./App.svelte";
import { keepShell } from "./offline/register";
import "./styles/tokens.css";
import "./styles/base.css";

mount(App, { target: document.getElementById("app")! });
keepShell();
