// The pages that a person sees when signing in fails: what happened, and what to do.
import { createHash } from 'node:crypto'
import type { RefusalKind } from '../access/session.ts'

interface Words {
  readonly status: number
  readonly title: string
  readonly text: string
}

const TRY_AGAIN = '<a href="/auth/login">Sign in again</a>'

const WORDS: Readonly<Record<RefusalKind | 'stranger', Words>> = {
  unreachable: {
    status: 503,
    title: 'Your company’s sign-in does not answer',
    text: 'Nobody can sign in with a company account until it does. Try again in a moment; if that does not help, tell your operator.',
  },
  misconfigured: {
    status: 503,
    title: 'Latchkey and your company’s sign-in do not fit together',
    text: 'You can do nothing about it. Tell your operator, with the number below: the log says what has to be changed.',
  },
  grants: {
    status: 503,
    title: 'Latchkey’s file of grants cannot be read',
    text: 'Nobody can sign in with a company account until it can. Tell your operator, with the number below: the log says what is wrong. Then try again.',
  },
  denied: {
    status: 403,
    title: 'Your company’s sign-in has refused',
    text: 'You may have cancelled it, or may not be allowed to use Latchkey. Sign in again, or ask those who manage your company accounts.',
  },
  invalid: {
    status: 400,
    title: 'This sign-in cannot be completed',
    text: 'It was begun in another browser or another tab, took longer than ten minutes, or was completed before. Sign in again.',
  },
  stranger: {
    status: 403,
    title: 'You have no access to Latchkey',
    text: 'Your company’s sign-in knows you, but nobody has given you access. Ask your operator to add a grant for you, then sign in again.',
  },
}

/** On the root: the browser takes the background of the page from there. */
const STYLE =
  ':root{color-scheme:light dark;background:Canvas;color:CanvasText}body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:15vh auto;padding:0 1rem}small{opacity:.7}'
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')

export const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
}

const escaped = (text: string) => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

/** `who` is the person whom the provider has named. */
export function refusalPage(kind: RefusalKind | 'stranger', requestId: string, who?: string) {
  const { status, title, text } = WORDS[kind]
  const person = who === undefined ? '' : `<p>You signed in as <b>${escaped(who)}</b>.</p>`
  const html = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title} · Latchkey</title>
<style>${STYLE}</style></head>
<body><main><h1>${title}</h1>${person}<p>${text}</p>
<p>${TRY_AGAIN} · <a href="/console/">Use an account key</a></p><p><small>Request ${escaped(requestId)}</small></p></main></body>
</html>
`
  return { status, html }
}
