// fast-check with the seed of this run.
import fc from 'fast-check'
import { SEED } from './seed.ts'

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: SEED })

export { fc }

const [FIRST_SURROGATE, SURROGATES, LAST] = [0xd800, 0x800, 0x10ffff]

/**
 * The unit of a string of any code points. It is what fast-check has as 'binary', without the table of all of them that it
 * makes first, which takes more than a second of processor time in every process.
 */
export const anyCharacter = fc.nat(LAST - SURROGATES).map(
  (n) => String.fromCodePoint(n < FIRST_SURROGATE ? n : n + SURROGATES),
  (text) => {
    const point = typeof text === 'string' && text.isWellFormed() ? (text.codePointAt(0) ?? LAST + 1) : LAST + 1
    if (point > LAST || text !== String.fromCodePoint(point)) throw new Error('not one character')
    return point < FIRST_SURROGATE ? point : point - SURROGATES
  },
)
