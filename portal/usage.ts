// How much a token was used on each of the last 30 days: bars, with a sentence and a table that say the same.
import type { Usage } from '../client/latchkey-client.ts'
import { element, svg } from './elements.ts'
import { failureAlert } from './failure.ts'
import { number, plural, utcDay } from './format.ts'
import type { Session } from './session.ts'

type Bucket = Usage['buckets'][number]
type Reason = keyof Bucket['refused']

const REASONS: Readonly<Record<Reason, string>> = {
  inactive: 'token disabled',
  expired: 'token expired',
  suspended: 'account suspended',
  address: 'address not allowed',
  scope: 'scope not allowed',
  rate: 'too many at a time',
  quota: 'quota used up',
}

export function usageOf(tokenId: string, session: Session): HTMLElement {
  const section = element('div', { class: 'usage' })
  const { client, signal } = session
  const load = async () => {
    section.replaceChildren(element('p', { role: 'status' }, 'Loading its usage…'))
    try {
      const { buckets } = await client.getTokenUsage({ id: tokenId, per: 'day' }, { signal })
      section.replaceChildren(...chart(buckets))
    } catch (error) {
      if (!signal.aborted) section.replaceChildren(failureAlert(error, () => void load()))
    }
  }
  void load()
  return section
}

const refusedOf = ({ refused }: Bucket): number => Object.values(refused).reduce((sum, count) => sum + count, 0)

function chart(buckets: readonly Bucket[]): HTMLElement[] {
  const used = buckets.filter((bucket) => bucket.accepted + refusedOf(bucket) > 0)
  if (used.length === 0) return [element('p', { role: 'status' }, 'Not used in the last 30 days.')]
  const accepted = used.reduce((sum, bucket) => sum + bucket.accepted, 0)
  const refused = used.reduce((sum, bucket) => sum + refusedOf(bucket), 0)
  return [
    element(
      'p',
      { role: 'status' },
      'Last 30 days: ',
      element('span', { class: 'key accepted' }, `${plural(accepted, 'request')} accepted`),
      ', ',
      element('span', { class: 'key refused' }, refused === 0 ? 'none refused' : `${number(refused)} refused`),
      refused === 0 ? '.' : ` (${reasonsOf(used)}).`,
    ),
    element('div', { 'aria-hidden': 'true' }, bars(buckets), axis(buckets)),
    element('details', {}, element('summary', {}, 'As a table'), table(used)),
  ]
}

const HEIGHT = 100
const GAP = 0.2
/** So that one request among thousands is seen. */
const LEAST = 2

/** One bar for each day, what was refused on top of what was accepted. */
function bars(buckets: readonly Bucket[]): SVGElement {
  const most = Math.max(...buckets.map((bucket) => bucket.accepted + refusedOf(bucket)))
  const height = (count: number) => (count === 0 ? 0 : Math.max(LEAST, (count / most) * HEIGHT))
  const all = buckets.flatMap((bucket, at) => {
    const [accepted, refused] = [height(bucket.accepted), height(refusedOf(bucket))]
    const place = { x: at + GAP / 2, width: 1 - GAP }
    const base = HEIGHT + LEAST
    return [
      svg('rect', { ...place, y: base - accepted, height: accepted, class: 'accepted' }),
      svg('rect', { ...place, y: base - accepted - refused, height: refused, class: 'refused' }),
    ]
  })
  return svg('svg', { viewBox: `0 0 ${buckets.length} ${HEIGHT + LEAST}`, preserveAspectRatio: 'none' }, ...all)
}

function axis(buckets: readonly Bucket[]): HTMLElement {
  const ends = [buckets.at(0), buckets.at(-1)].filter((bucket) => bucket !== undefined)
  return element('div', { class: 'axis small' }, ...ends.map(({ from }) => element('span', {}, utcDay(from))))
}

function table(used: readonly Bucket[]): HTMLElement {
  const header = ['Day, in UTC', 'Accepted', 'Refused'].map((text) => element('th', { scope: 'col' }, text))
  const rows = used.toReversed().map((bucket) => {
    const refused = refusedOf(bucket) === 0 ? '0' : reasonsOf([bucket])
    const cells = [utcDay(bucket.from), number(bucket.accepted), refused]
    return element('tr', {}, ...cells.map((text) => element('td', {}, text)))
  })
  return element('table', {}, element('thead', {}, element('tr', {}, ...header)), element('tbody', {}, ...rows))
}

function reasonsOf(buckets: readonly Bucket[]): string {
  const counts = Object.entries(REASONS).map(([reason, words]) => {
    const count = buckets.reduce((sum, { refused }) => sum + refused[reason as Reason], 0)
    return count === 0 ? [] : [`${number(count)} ${words}`]
  })
  return counts.flat().join(', ')
}
