// Refuses LATCHKEY_* variables that are not settings, and suggests the setting that was probably meant.
import { OperatorError } from './tokens/model/errors.ts'

const PREFIX = /^LATCHKEY_/i

export const looksLikeSetting = (name: string): boolean => PREFIX.test(name)

/** Kubernetes sets these for a Service named latchkey: LATCHKEY_SERVICE_HOST, LATCHKEY_PORT (tcp://…) and the like. */
const SERVICE_LINK = /_SERVICE_(HOST|PORT(_\w+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/
const SERVICE_LINK_URL = /^(tcp|udp|sctp):\/\//

export function refuseUnknownSettings(
  env: Readonly<Record<string, string | undefined>>,
  settings: readonly string[],
): void {
  const unknown = Object.entries(env)
    .filter(([name, value = '']) => looksLikeSetting(name) && !settings.includes(name) && !isHarmless(name, value))
    .map(([name]) => `${name} is not a setting${suggestion(name, settings)}`)
  if (unknown.length > 0) throw new OperatorError(`${unknown.join('\n')}\ndocs/operate/settings.md lists all settings.`)
}

/** An empty variable counts as unset. */
function isHarmless(name: string, value: string): boolean {
  return value.trim() === '' || SERVICE_LINK.test(name) || (name.endsWith('_PORT') && SERVICE_LINK_URL.test(value))
}

/** Compared without the prefix, so LATCHKEY_PORT leads to PORT. */
function suggestion(name: string, settings: readonly string[]): string {
  const wanted = name.toUpperCase().replace(PREFIX, '')
  const [nearest] = settings
    .map((setting) => ({ setting, distance: editDistance(wanted, setting.replace(PREFIX, '')) }))
    .sort((left, right) => left.distance - right.distance)
  if (nearest === undefined || nearest.distance > Math.max(2, wanted.length / 3)) return ''
  return `; did you mean ${nearest.setting}?`
}

/** The Levenshtein distance. */
function editDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (const [i, character] of [...from].entries()) {
    const row = [i + 1]
    for (const [j, other] of [...to].entries()) {
      const replaced = (previous[j] ?? 0) + (character === other ? 0 : 1)
      row.push(Math.min(replaced, (previous[j + 1] ?? 0) + 1, (row[j] ?? 0) + 1))
    }
    previous = row
  }
  return previous.at(-1) ?? 0
}
