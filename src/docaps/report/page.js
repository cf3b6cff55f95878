"use strict";
// Comfort only: without this script every iteration is shown and every command can be selected by hand.
document.documentElement.classList.add("js");

for (const sample of document.querySelectorAll(".routed")) {
  const controls = sample.querySelector(".controls");
  const slider = sample.querySelector(".iteration-slider");
  const everything = sample.querySelector(".iteration-all");
  const output = sample.querySelector("output");
  const show = () => {
    for (const step of sample.querySelectorAll(".step")) {
      step.classList.toggle("away", !everything.checked && step.dataset.step !== slider.value);
    }
    slider.disabled = everything.checked;
    output.textContent = everything.checked ? "all" : `${slider.value} of ${slider.max}`;
  };
  slider.addEventListener("input", show);
  everything.addEventListener("change", show);
  controls.hidden = Number(slider.max) === 0;
  show();
}

// What scrolls sideways must be reachable by keyboard; what does not would only be one stop more.
const markScrollers = () => {
  for (const box of document.querySelectorAll("[data-scroll]")) {
    if (box.scrollWidth > box.clientWidth) {
      box.tabIndex = 0;
      box.setAttribute("role", "region");
      box.setAttribute("aria-label", box.dataset.scroll);
    } else {
      for (const name of ["tabindex", "role", "aria-label"]) box.removeAttribute(name);
    }
  }
};
markScrollers();
addEventListener("resize", markScrollers);
document.addEventListener("toggle", markScrollers, true);

for (const button of document.querySelectorAll(".copy")) {
  const code = button.parentElement.querySelector("code");
  const word = button.textContent;
  const say = (text) => {
    button.textContent = text;
    setTimeout(() => { button.textContent = word; }, 1500);
  };
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      say("Copied");
    } catch {
      getSelection().selectAllChildren(code);
      say("Selected");
    }
  });
}

// Paper cannot be unfolded.
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not([open])")];
  for (const details of opened) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of opened) details.open = false;
});
