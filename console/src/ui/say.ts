// Words with elements between them, as one element.
import { createElement, Fragment, type ReactElement, type ReactNode } from 'react'

/** Such as say`${name} is saved`. */
export const say = (words: TemplateStringsArray, ...parts: readonly ReactNode[]): ReactElement =>
  createElement(Fragment, null, ...words.flatMap((word, at) => [word, parts[at]]))

/** Parts that never move, with the same between each two of them. */
export const together = (parts: readonly ReactNode[], between?: string): ReactElement =>
  createElement(Fragment, null, ...parts.flatMap((part, at) => (at === 0 ? [part] : [between, part])))
