// Builds elements. Text is only ever text: under Trusted Types nothing may become markup.

type Value = string | number | boolean | undefined | ((event: Event) => void)
/** A function listens to the event of that name. */
export type Attributes = Readonly<Record<string, Value>>
export type Child = Node | string | undefined

export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  return fill(document.createElement(tag), attributes, children)
}

export function svg<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Attributes,
  ...children: readonly Child[]
): SVGElementTagNameMap[Tag] {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children)
}

function fill<Made extends Element>(made: Made, attributes: Attributes, children: readonly Child[]): Made {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') made.addEventListener(name, value)
    else if (value !== undefined && value !== false) made.setAttribute(name, value === true ? '' : String(value))
  }
  made.append(...children.filter((child) => child !== undefined))
  return made
}

let lastId = 0

/** For `aria-labelledby` and the like, which name elements of the same shadow root. */
export function newId(): string {
  lastId += 1
  return `id-${lastId}`
}
