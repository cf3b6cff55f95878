// Elements of the page. Text is always inserted as text, never as markup.

export const find = (id) => document.getElementById(id);

export const node = (name, attributes = {}, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null) element.setAttribute(key, value);
  element.append(...children);
  return element;
};

// Let the user save a content under a name.
export const save = (content, name) => {
  const link = node("a", { href: URL.createObjectURL(content), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};
